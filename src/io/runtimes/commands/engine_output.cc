#include "io/runtimes/commands/engine_output.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>

#include "base/strings.h"

namespace tiphys::commands {
namespace {

using workload::ContainerPhase;

constexpr std::size_t kShownOutput = 80;

}  // namespace

Result<shell::ContainerId> parse_id(std::string_view engine, std::string_view output) {
  const auto id = trim(output);
  const bool is_one_word = !id.empty() && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (!is_one_word)
    return fail(Code::kInternal,
                concat(engine, " printed no container id, but '", beginning_of(output), "'"));
  return shell::ContainerId{std::string(id)};
}

shell::ContainerStatus status_by(std::span<const StateRow> table, std::string_view word,
                                 int exit_code) {
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  for (const auto& row : table)
    if (row.word == lower) {
      const bool has_ended =
          row.phase == ContainerPhase::kExited || row.phase == ContainerPhase::kDead;
      return {row.phase, std::string(word), has_ended ? exit_code : 0, false};
    }
  return {ContainerPhase::kUnknown, std::string(word), 0, false};
}

std::string text_at(const Tree& entry, std::string_view key) {
  const auto field = entry.child(key);
  return field && field->string() != nullptr ? *field->string() : "";
}

std::optional<int> number_at(const Tree& entry, std::string_view key, int max) {
  const auto field = entry.child(key);
  if (!field || field->number() == nullptr) return std::nullopt;
  if (*field->number() > static_cast<std::uint64_t>(max)) return std::nullopt;
  return static_cast<int>(*field->number());
}

std::string beginning_of(std::string_view output) {
  const auto text = trim(output);
  if (text.size() <= kShownOutput) return with_valid_utf8(std::string(text));
  return with_valid_utf8(std::string(text.substr(0, kShownOutput))) + "…";
}

}  // namespace tiphys::commands
