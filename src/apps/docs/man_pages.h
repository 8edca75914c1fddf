#pragma once

// The man pages of all commands and file formats, made of the tables from which the programs take their options and
// their help. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace tiphys::apps {

struct ManPage {
  std::string name;  // ank-get-workload
  int section = 1;
  std::string text;
};

// "ank-get-workload.1"
std::string file_name(const ManPage& page);

// The date, 2026-01-31, stands at the foot of every page.
std::vector<ManPage> man_pages(std::string_view date);

}  // namespace tiphys::apps
