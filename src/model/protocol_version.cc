#include "model/protocol_version.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/strings.h"

namespace tiphys {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && (text == "0" || text.front() != '0') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Identifiers of a pre-release or build, joined by '.'; a number in a pre-release has no leading zero.
bool are_identifiers(std::string_view text, bool pre_release) {
  const auto pieces = split(text, '.');
  return std::all_of(pieces.begin(), pieces.end(), [&](std::string_view piece) {
    const bool characters = !piece.empty() && std::all_of(piece.begin(), piece.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    });
    const bool digits =
        std::all_of(piece.begin(), piece.end(), [](char c) { return c >= '0' && c <= '9'; });
    return characters && (!pre_release || !digits || is_number(piece));
  });
}

// The major number of a complete semantic version.
std::optional<std::string_view> major_of(std::string_view version) {
  const auto plus = version.find('+');
  if (plus != std::string_view::npos && !are_identifiers(version.substr(plus + 1), false))
    return std::nullopt;
  version = version.substr(0, plus);
  const auto minus = version.find('-');
  if (minus != std::string_view::npos && !are_identifiers(version.substr(minus + 1), true))
    return std::nullopt;
  const auto numbers = split(version.substr(0, minus), '.');
  if (numbers.size() != 3 || !std::all_of(numbers.begin(), numbers.end(), is_number))
    return std::nullopt;
  return numbers[0];
}

}  // namespace

Status check_protocol_version(std::string_view received) {
  const std::string_view ours = *major_of(kProtocolVersion);
  const auto theirs = major_of(received);
  if (theirs && *theirs == ours) return {};
  return fail(Code::kFailedPrecondition, concat("Unsupported protocol version '", received,
                                                "'. Currently supported '", ours, "'"));
}

}  // namespace tiphys
