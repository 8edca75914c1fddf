#pragma once

// What may stand in the config files of ank, ank-server and ank-agent: for their man pages.

#include <string_view>
#include <vector>

namespace tiphys::apps {

struct ConfigKey {
  std::string_view name;
  std::string_view type;
  std::string_view meaning;  // a line without a full stop
  std::string_view fallback{};
  bool is_required = false;
  std::string_view table{};  // that it stands in; empty: the top level
};

struct ConfigFormat {
  std::string_view name;  // ank.conf
  std::string_view summary;
  std::string_view details;             // paragraphs
  std::vector<std::string_view> files;  // where it is looked for, the first that exists counts
  std::vector<ConfigKey> keys;
  std::string_view example;
  std::string_view program;  // that reads it
};

const ConfigFormat& ank_config();
const ConfigFormat& server_config();
const ConfigFormat& agent_config();

}  // namespace tiphys::apps
