#include "io/runtimes/nerdctl/nerdctl_output.h"

#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "text/json.h"

namespace tiphys::nerdctl {
namespace {

using commands::beginning_of;
using commands::number_at;
using commands::StateRow;
using commands::text_at;
using workload::ContainerPhase;

// Never an empty text where one of them has something to say.
std::string id_of(const Tree& entry) {
  auto id = text_at(entry, "ID");
  return id.empty() ? text_at(entry, "Id") : id;
}

shell::Labels labels_in(std::string_view text) {
  shell::Labels labels;
  for (const auto piece : split(text, ','))
    if (const auto equals = piece.find('='); equals != std::string_view::npos)
      labels.emplace(piece.substr(0, equals), piece.substr(equals + 1));
  return labels;
}

bool may_be_ours(const shell::Labels& labels) {
  return labels.contains(shell::kAnkaiosAgentLabel) || labels.contains(shell::kAgentLabel);
}

// Versions that tell the labels apart are believed more than the joined ones.
shell::Labels labels_of(const Tree& inspected, const PsEntry& entry) {
  const auto config = inspected.child("Config");
  const auto field = config ? config->child("Labels") : std::nullopt;
  if (!field || !field->is_map()) return entry.labels;
  shell::Labels labels;
  field->entries().for_each([&labels](const std::string& key, const Tree& value) {
    if (value.string() != nullptr) labels.emplace(key, *value.string());
  });
  return labels;
}

shell::ContainerStatus status_in(const Tree& state, const PsEntry& entry) {
  auto word = text_at(state, "Status");
  // nerdctl 2 says so of what has never run.
  if (word.empty() && entry.is_created) word = "created";
  const auto exit_code = number_at(state, "ExitCode", commands::kMaxExitCode);
  auto status = status_of(word, exit_code.value_or(0));
  const bool has_ended =
      status.phase == ContainerPhase::kExited || status.phase == ContainerPhase::kDead;
  if (has_ended && !exit_code) return {ContainerPhase::kUnknown, kListingFailed, 0, false};
  return status;
}

// Containers that have ended are warned about in lines of their own, in much the same words.
std::string_view fatal_line_of(std::string_view error) {
  const auto begin = error.rfind("level=fatal");
  return begin == std::string_view::npos ? error : error.substr(begin);
}

constexpr std::string_view kNoSuchObject = "no such object";
constexpr std::string_view kNotFound = "\": not found";  // after a quoted namespace

bool holds_word(std::string_view text, std::string_view words) {
  for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const auto end = at + words.size();
    if (end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

// An ended container keeps the number of a process that is not there any more, and may be another's by now.
pid_t process_in(const Tree& state, const shell::ContainerStatus& status) {
  const bool may_run =
      status.phase == ContainerPhase::kRunning || status.phase == ContainerPhase::kUnknown;
  return may_run ? number_at(state, "Pid", std::numeric_limits<pid_t>::max()).value_or(0) : 0;
}

}  // namespace

shell::ContainerStatus status_of(std::string_view word, int exit_code) {
  static constexpr StateRow kTable[] = {
      {"created", ContainerPhase::kStarting}, {"restarting", ContainerPhase::kStarting},
      {"running", ContainerPhase::kRunning},  {"exited", ContainerPhase::kExited},
      {"dead", ContainerPhase::kDead},        {"removing", ContainerPhase::kStopping},
  };
  return commands::status_by(kTable, word, exit_code);
}

bool says_not_there(std::string_view error) {
  const auto line = fatal_line_of(error);
  return line.find(kNoSuchObject) != std::string_view::npos ||
         line.find(kNoSuchContainer) != std::string_view::npos ||
         line.find(kNotFound) != std::string_view::npos;
}

bool says_not_there(std::string_view error, const shell::ContainerId& container) {
  const auto line = fatal_line_of(error);
  return holds_word(line, concat(kNoSuchObject, " ", container.value)) ||
         holds_word(line, concat(kNoSuchContainer, ": ", container.value));
}

Result<std::vector<PsEntry>> parse_ps(std::string_view output) {
  std::vector<PsEntry> entries;
  for (const auto line : split(output, '\n')) {
    if (trim(line).empty()) continue;
    const auto entry = parse_json(line, {.other_numbers_as_text = true});
    if (!entry)
      return fail(Code::kInternal, concat("nerdctl ps printed no JSON: ", to_string(entry.error()),
                                          ": '", beginning_of(line), "'"));
    auto id = id_of(*entry);
    auto labels = labels_in(text_at(*entry, "Labels"));
    if (id.empty() || !may_be_ours(labels)) continue;
    entries.push_back({{std::move(id)},
                       text_at(*entry, "Names"),
                       std::move(labels),
                       text_at(*entry, "Status") == "Created"});
  }
  return entries;
}

Result<std::vector<ListedContainer>> parse_inspect(std::string_view output,
                                                   const std::vector<PsEntry>& entries) {
  const auto listing = parse_json(output, {.other_numbers_as_text = true});
  if (!listing)
    return fail(Code::kInternal,
                concat("nerdctl inspect printed no JSON: ", to_string(listing.error()), ": '",
                       beginning_of(output), "'"));
  if (listing->list() == nullptr)
    return fail(Code::kInternal,
                concat("nerdctl inspect printed no list: '", beginning_of(output), "'"));
  std::map<shell::ContainerId, const Tree*> inspected;
  for (const auto& each : *listing->list()) inspected.emplace(id_of(each), &each);
  std::vector<ListedContainer> containers;
  for (const auto& entry : entries) {
    const auto found = inspected.find(entry.id);
    if (found == inspected.end()) continue;
    const auto state = found->second->child("State").value_or(Tree());
    auto status = status_in(state, entry);
    const auto process = process_in(state, status);
    containers.push_back(
        {{entry.id, entry.name, labels_of(*found->second, entry), std::move(status)}, process});
  }
  return containers;
}

}  // namespace tiphys::nerdctl
