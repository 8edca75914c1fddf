#pragma once

// What the tests of options hand in instead of the process's own surroundings.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "io/host/environment.h"

namespace tiphys::apps {

inline host::Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::optional<std::string>() : found->second;
  };
}

class FolderTest : public ::testing::Test {
 public:
  FolderTest() {
    std::string pattern = ::testing::TempDir() + "apps-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }

 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  std::string folder_;
};

}  // namespace tiphys::apps
