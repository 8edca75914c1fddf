// tiphys-docs: writes the man pages, for the build. Not installed.
//
//   tiphys-docs DATE FOLDER     into FOLDER/man1, FOLDER/man5 and FOLDER/man8
//   tiphys-docs                 only the list of them, one a line

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/docs/man_pages.h"
#include "base/strings.h"

namespace {

std::string place(const tiphys::apps::ManPage& page) {
  return tiphys::concat("man", std::to_string(page.section), "/", tiphys::apps::file_name(page));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (!words.empty() && words.size() != 2) {
    std::fputs("error: expected DATE and FOLDER, or nothing\n", stderr);
    return 2;
  }
  for (const auto& page : tiphys::apps::man_pages(words.empty() ? "" : words[0])) {
    if (words.empty()) {
      std::puts(place(page).c_str());
      continue;
    }
    const std::filesystem::path path = std::filesystem::path(words[1]) / place(page);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::trunc);
    file << page.text;
    file.close();
    if (!file) {
      std::fputs(tiphys::concat("error: cannot write ", path.string(), "\n").c_str(), stderr);
      return 1;
    }
  }
  return 0;
}
