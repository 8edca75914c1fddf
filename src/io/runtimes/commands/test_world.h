#pragma once

// What the tests of engines share: a loop that stands for both threads, and folders that go away again.

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "shell/log.h"
#include "shell/strand.h"

namespace tiphys::commands {

class TestFolder {
 public:
  TestFolder() {
    std::string name = "/tmp/tiphys-engine-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(std::string_view name) const { return concat(path_, "/", name); }
  // In one go: a program that reads it meanwhile sees the old or the new text.
  void write(std::string_view name, std::string_view text, mode_t mode = 0644) const {
    std::ofstream(path("new")) << text;
    ::chmod(path("new").c_str(), mode);
    std::filesystem::rename(path("new"), path(name));
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

class TestLoop : public shell::Strand, public shell::Log {
 public:
  void post(std::function<void()> task) override { boost::asio::post(context, std::move(task)); }
  void write(shell::Level, std::string_view text, Fields) override { logged.emplace_back(text); }

  // Runs until the condition holds; false when it does not within a time that no machine needs.
  bool await(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      context.restart();
      context.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  boost::asio::io_context context;
  std::vector<std::string> logged;
};

}  // namespace tiphys::commands
