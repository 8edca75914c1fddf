#include "io/runtimes/podman/podman_output.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "text/json.h"

namespace tiphys::podman {
namespace {

using commands::beginning_of;
using commands::kMaxExitCode;
using commands::number_at;
using commands::StateRow;
using commands::status_by;
using commands::text_at;
using workload::ContainerPhase;

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
  const auto word = text_at(entry, "State");
  const auto exit_code = number_at(entry, "ExitCode", kMaxExitCode);
  auto status = status_of(word, exit_code.value_or(0));
  if (status.phase == ContainerPhase::kExited && !exit_code)
    return {ContainerPhase::kUnknown, kListingFailed, 0, false};
  return status;
}

}  // namespace

// [impl->swdd~podman-state-getter-maps-state~3]
shell::ContainerStatus status_of(std::string_view word, int exit_code) {
  static constexpr StateRow kTable[] = {
      {"created", ContainerPhase::kStarting},     {"configured", ContainerPhase::kStarting},
      {"initialized", ContainerPhase::kStarting}, {"running", ContainerPhase::kRunning},
      {"exited", ContainerPhase::kExited},        {"stopping", ContainerPhase::kStopping},
      {"stopped", ContainerPhase::kStopping},     {"removing", ContainerPhase::kStopping},
  };
  return status_by(kTable, word, exit_code);
}

Result<std::vector<ListedContainer>> parse_ps(std::string_view output) {
  if (trim(output).empty()) return fail(Code::kInternal, "podman ps printed nothing");
  const auto listing = parse_json(output, {.other_numbers_as_text = true});
  if (!listing)
    return fail(Code::kInternal, concat("podman ps printed no JSON: ", to_string(listing.error()),
                                        ": '", beginning_of(output), "'"));
  if (listing->is_null()) return {};
  if (listing->list() == nullptr)
    return fail(Code::kInternal, concat("podman ps printed no list: '", beginning_of(output), "'"));
  std::vector<ListedContainer> containers;
  for (const auto& entry : *listing->list()) {
    auto id = text_at(entry, "Id");
    if (id.empty()) continue;
    containers.push_back(
        {{{std::move(id)}, name_of(entry), labels_of(entry), status_of_entry(entry)},
         number_at(entry, "Pid", std::numeric_limits<pid_t>::max()).value_or(0),
         text_at(entry, "Pod")});
  }
  return containers;
}

}  // namespace tiphys::podman
