#include "tests/scenarios/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/strings.h"

namespace tiphys::scenario {
namespace {

constexpr std::string_view kNothing = "(nothing)";

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool updates() { return std::getenv("TIPHYS_UPDATE") != nullptr; }

// The file as it would be if the machine were right.
std::string played(const std::string& text, const Machine& machine) {
  std::string story;
  for (const auto line : split(text, '\n')) {
    if (line.starts_with("  ")) continue;
    story += concat(line, "\n");
    if (!line.starts_with("> ")) continue;
    auto effects = machine(std::string(line.substr(2)));
    if (effects.empty()) effects.emplace_back(kNothing);
    for (const auto& effect : effects) story += concat("  ", with_short_ids(effect), "\n");
  }
  story.pop_back();  // the last line is the empty one behind the last line break
  return story;
}

std::map<std::string, std::string> options_of(std::string_view text) {
  std::map<std::string, std::string> options;
  for (const auto option : split(text, ',')) {
    const std::size_t equals = option.find('=');
    options[std::string(option.substr(0, equals))] =
        equals == std::string_view::npos ? "" : std::string(option.substr(equals + 1));
  }
  return options;
}

}  // namespace

std::vector<std::filesystem::path> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  // Tests run in the root of the tree.
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path("tests/scenarios") / folder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string name_of(const std::filesystem::path& file) { return file.stem().string(); }

std::optional<std::string> head_of(const std::filesystem::path& file, const std::string& words) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line) && line.starts_with("#");)
    if (line.starts_with(words)) return line.substr(words.size());
  return std::nullopt;
}

void play(const std::filesystem::path& file, const Machine& machine) {
  const std::string written = read(file);
  ASSERT_TRUE(written.starts_with("# "))
      << file << " begins with a sentence that says what it shows";
  const std::string expected = played(written, machine);
  if (updates())
    std::ofstream(file) << expected;
  else
    EXPECT_EQ(written, expected) << file;
}

std::string with_short_ids(const std::string& text) {
  static const std::regex kId("([0-9a-f]{7})[0-9a-f]{57}");
  return std::regex_replace(text, kId, "$1");
}

Words::Words(std::string text) : whole_(text), text_(std::move(text)) {}

bool Words::take(std::string_view words) {
  if (!text_.starts_with(words)) return false;
  if (text_.size() > words.size() && text_[words.size()] != ' ') return false;
  text_.erase(0, std::min(text_.size(), words.size() + 1));
  return true;
}

std::string Words::word() {
  if (text_.empty()) misread("one more word");
  const std::size_t end = text_.find(' ');
  const std::string word = text_.substr(0, end);
  text_.erase(0, end == std::string::npos ? end : end + 1);
  return word;
}

std::string Words::rest() { return std::exchange(text_, {}); }

void Words::misread(const std::string& what) const {
  throw std::runtime_error(concat("event '", whole_, "': expected ", what, " at '", text_, "'"));
}

InstanceName instance_of(const std::string& word) {
  const auto parts = split(word, '.');
  if (parts.size() != 2) Words(word).misread("<workload>.<id>");
  return InstanceName{WorkloadName{std::string(parts[0])}, WorkloadId{std::string(parts[1])},
                      AgentName{"A"}};
}

WorkloadSpecPtr spec_of(const std::string& word) {
  const std::size_t bracket = word.find('[');
  Workload workload;
  workload.agent = "A";
  workload.runtime = "podman";
  workload.runtime_config = "image: " + word.substr(0, bracket);
  if (bracket != std::string::npos)
    for (const auto& [option, value] :
         options_of(std::string_view(word).substr(bracket + 1, word.size() - bracket - 2))) {
      if (option == "runtime")
        workload.runtime = value;
      else if (option == "tag")
        workload.tags.edit()["tag"] = value;
      else if (option == "file")
        workload.files.edit().push_back({value, File::Encoding::kText, "text"});
      else if (option == "reads")
        workload.access.edit().allow_rules.emplace_back(StateRule{Operation::kRead, {value}});
      else if (const std::size_t colon = option.find(':'); colon != std::string::npos)
        workload.dependencies.edit()[option.substr(0, colon)] =
            parse_add_condition("ADD_COND_" + option.substr(colon + 1)).value();
      else if (auto policy = parse_restart_policy(option))
        workload.restart_policy = *policy;
      else
        Words(word).misread("runtime=, tag=, file=, reads=, a dependency or a restart policy");
    }
  return WorkloadSpec::received(instance_of(word.substr(0, bracket)),
                                std::make_shared<const Workload>(std::move(workload)))
      .value();
}

DeletedWorkload deleted_of(const std::string& word) {
  const std::size_t bracket = word.find('[');
  DeletedWorkload deleted{instance_of(word.substr(0, bracket)), {}};
  if (bracket == std::string::npos) return deleted;
  for (const auto& [dependent, condition] :
       options_of(std::string_view(word).substr(bracket + 1, word.size() - bracket - 2))) {
    if (condition != "RUNNING" && condition != "NOT_PENDING_NOR_RUNNING")
      Words(word).misread("a delete condition");
    deleted.dependencies[dependent] =
        condition == "RUNNING" ? DeleteCondition::kRunning : DeleteCondition::kNotPendingNorRunning;
  }
  return deleted;
}

ExecutionState execution_state_of(const std::string& text) {
  for (const auto& row : kPhases) {
    const std::string name = to_string(ExecutionState(row.phase));
    if (text == name) return ExecutionState(row.phase);
    if (text.starts_with(name + ": '"))
      return ExecutionState(row.phase, text.substr(name.size() + 3, text.size() - name.size() - 4));
  }
  Words(text).misread("an execution state");
}

}  // namespace tiphys::scenario
