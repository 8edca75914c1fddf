#include "io/runtimes/podman/podman_output.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "text/json.h"

namespace tiphys::podman {
namespace {

using workload::ContainerPhase;

constexpr std::size_t kShownOutput = 80;
constexpr int kMaxExitCode = 255;

std::string shorten(std::string_view output) {
  const auto text = trim(output);
  if (text.size() <= kShownOutput) return with_valid_utf8(std::string(text));
  return with_valid_utf8(std::string(text.substr(0, kShownOutput))) + "…";
}

std::string text_of(const Tree& entry, std::string_view key) {
  const auto field = entry.child(key);
  return field && field->string() != nullptr ? *field->string() : "";
}

// Nothing when it is absent, no integer, or out of range.
std::optional<int> number_of(const Tree& entry, std::string_view key, int max) {
  const auto field = entry.child(key);
  if (!field || field->number() == nullptr) return std::nullopt;
  if (*field->number() > static_cast<std::uint64_t>(max)) return std::nullopt;
  return static_cast<int>(*field->number());
}

std::map<std::string, std::string> labels_of(const Tree& entry) {
  std::map<std::string, std::string> labels;
  if (const auto field = entry.child("Labels"))
    field->entries().for_each([&labels](const std::string& key, const Tree& value) {
      if (value.string() != nullptr) labels.emplace(key, *value.string());
    });
  return labels;
}

std::string name_of(const Tree& entry) {
  const auto field = entry.child("Names");
  const auto* names = field ? field->list() : nullptr;
  if (names == nullptr || names->empty() || names->front().string() == nullptr) return "";
  return *names->front().string();
}

// [impl->swdd~podman-state-getter-returns-unknown-state~1]
shell::ContainerStatus status_of_entry(const Tree& entry) {
  const auto word = text_of(entry, "State");
  const auto exit_code = number_of(entry, "ExitCode", kMaxExitCode);
  const auto status = status_of(word, exit_code.value_or(0));
  if (status.phase == ContainerPhase::kExited && !exit_code)
    return {ContainerPhase::kUnknown, kListingFailed, 0, false};
  return status;
}

}  // namespace

// [impl->swdd~podman-state-getter-maps-state~3]
shell::ContainerStatus status_of(std::string_view word, int exit_code) {
  struct Row {
    std::string_view word;
    ContainerPhase phase;
  };
  static constexpr Row kTable[] = {
      {"created", ContainerPhase::kStarting},     {"configured", ContainerPhase::kStarting},
      {"initialized", ContainerPhase::kStarting}, {"running", ContainerPhase::kRunning},
      {"exited", ContainerPhase::kExited},        {"stopping", ContainerPhase::kStopping},
      {"stopped", ContainerPhase::kStopping},     {"removing", ContainerPhase::kStopping},
  };
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  for (const auto& row : kTable)
    if (row.word == lower)
      return {row.phase, std::string(word), row.phase == ContainerPhase::kExited ? exit_code : 0,
              false};
  return {ContainerPhase::kUnknown, std::string(word), 0, false};
}

Result<std::vector<ListedContainer>> parse_ps(std::string_view output) {
  if (trim(output).empty()) return fail(Code::kInternal, "podman ps printed nothing");
  const auto listing = parse_json(output, {.other_numbers_as_text = true});
  if (!listing)
    return fail(Code::kInternal, concat("podman ps printed no JSON: ", to_string(listing.error()),
                                        ": '", shorten(output), "'"));
  if (listing->is_null()) return {};
  if (listing->list() == nullptr)
    return fail(Code::kInternal, concat("podman ps printed no list: '", shorten(output), "'"));
  std::vector<ListedContainer> containers;
  for (const auto& entry : *listing->list()) {
    auto id = text_of(entry, "Id");
    if (id.empty()) continue;
    containers.push_back(
        {{{std::move(id)}, name_of(entry), labels_of(entry), status_of_entry(entry)},
         number_of(entry, "Pid", std::numeric_limits<pid_t>::max()).value_or(0)});
  }
  return containers;
}

Result<shell::ContainerId> parse_id(std::string_view output) {
  const auto id = trim(output);
  const bool is_one_word = !id.empty() && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (!is_one_word)
    return fail(Code::kInternal,
                concat("podman printed no container id, but '", shorten(output), "'"));
  return shell::ContainerId{std::string(id)};
}

}  // namespace tiphys::podman
