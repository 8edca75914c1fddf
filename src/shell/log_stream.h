#pragma once

// What a container has written and writes: lines as they come, then one end. After a batch of lines the next one comes only
// when it is asked for, so that nothing piles up before a slow reader; the end needs no asking.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tiphys::shell {

// Handed to the engine as they came: it knows best what they mean.
struct LogOptions {
  bool follow = false;
  std::optional<std::int32_t> tail;
  std::optional<std::string> since;
  std::optional<std::string> until;
};

struct LogLines {
  std::vector<std::string> lines;
};
struct LogEnd {
  Status status;
};
using LogEvent = std::variant<LogLines, LogEnd>;
using LogStream = std::uint64_t;

}  // namespace tiphys::shell
