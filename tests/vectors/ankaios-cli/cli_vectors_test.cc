// Replays what the stock `ank` was seen to print: the same words, files and environment, against our server's machine or
// against the scripted servers of scripts.cc.
//
// What is the same in every case is said once, in expected(): no colours outside a terminal, our version number, and
// for words that make no command only the exit code. Cases that need agents, logs, events or a signal are left out, and
// counted; kDiffers lists the others whose outcome is not the recorded one, each with its reason.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/strings.h"
#include "base/version.h"
#include "cli/ank.h"
#include "cli/test_console.h"
#include "cli/test_server.h"
#include "core/server/update.h"
#include "scripts.h"
#include "text/json.h"
#include "text/manifest.h"
#include "text/yaml.h"

namespace tiphys::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

enum class How : std::uint8_t {
  kExitCode,  // other words, the same outcome
  kNot,       // another outcome
};

struct Difference {
  How how;
  const char* reason;
};

const std::map<std::string, Difference>& differences();

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string without_colours(const std::string& text) {
  static const std::regex kColour("\x1b\\[[0-9;]*m");
  return std::regex_replace(text, kColour, "");
}

// A part of a case that may be null or missing.
const Json& part_at(const Json& recorded, const char* key) {
  static const Json kNothing = Json::object();
  const auto found = recorded.find(key);
  return found == recorded.end() || found->is_null() ? kNothing : *found;
}

std::string text_at(const Json& recorded, const char* key, std::string otherwise) {
  const auto found = recorded.find(key);
  return found == recorded.end() || !found->is_string() ? std::move(otherwise)
                                                        : found->get<std::string>();
}

bool flag_at(const Json& recorded, const char* key) {
  const auto found = recorded.find(key);
  return found != recorded.end() && found->is_boolean() && found->get<bool>();
}

// -- What has to agree, by the mode of the case

struct Frames {
  std::string before;
  std::vector<std::string> tables;
};

Frames frames_of(const std::string& text) {
  static const std::regex kEscape("\x1b\\[[0-9;?]*[A-Za-z]");
  const std::string plain = std::regex_replace(replaced(text, "\r\n", "\n"), kEscape, "");
  Frames frames;
  constexpr std::string_view kTitle = "WORKLOAD NAME";
  std::size_t at = plain.find(kTitle);
  frames.before = plain.substr(0, at);
  while (at != std::string::npos) {
    const std::size_t next = plain.find(kTitle, at + 1);
    frames.tables.push_back(plain.substr(at, next == std::string::npos ? next : next - at));
    at = next;
  }
  return frames;
}

std::string sorted_lines(const std::string& text) {
  auto pieces = split(text, '\n');
  std::sort(pieces.begin(), pieces.end());
  std::string sorted;
  for (const auto piece : pieces) sorted += concat(piece, "\n");
  return sorted;
}

// Runs of debug lines count once, whatever they say.
std::string without_debug_texts(const std::string& text) {
  static const std::regex kDebug("((^|\n)(\x1b\\[[0-9;]*m)?debug:[^\n]*)+");
  return std::regex_replace(text, kDebug, "$2debug:");
}

// The load of a machine is never the same; the recordings have zeros and nines for it.
std::string without_load(const std::string& text) {
  static const std::regex kLoad("((cpuUsage|freeMemory)\"?: )[0-9]+");
  std::string result = std::regex_replace(text, kLoad, "$010");
  static const std::regex kMemory("[0-9]{6,}B");
  for (std::smatch found; std::regex_search(result, found, kMemory);) {
    const auto at = static_cast<std::size_t>(found.position());
    const auto digits = static_cast<std::size_t>(found.length()) - 1;
    if (result.compare(at, digits, std::string(digits, '9')) == 0) break;
    result.replace(at, digits, digits, '9');
  }
  return result;
}

std::string canonical(const std::string& mode, const std::string& whole_text) {
  std::string text = without_load(without_debug_texts(whole_text));
  if (mode == "json") return write_json(parse_json(text).value_or(Tree(text)));
  if (mode == "yaml") {
    const auto node = parse_yaml(text);
    const auto tree = node ? to_tree(*node) : misparsed({}, text);
    return tree ? write_json(*tree) : text;
  }
  if (mode == "sorted-lines") return sorted_lines(text);
  if (mode == "first-line") return text.substr(0, text.find('\n'));
  if (mode == "last-line") {
    const std::string whole = text.substr(0, text.find_last_not_of('\n') + 1);
    return whole.substr(whole.find_last_of('\n') + 1);
  }
  if (mode == "wait" || mode == "wait-cut") {
    const Frames frames = frames_of(text);
    return frames.before + (frames.tables.empty() ? "" : frames.tables.back());
  }
  if (mode == "cycle") return std::regex_replace(text, std::regex("cy[12]"), "cyN");
  EXPECT_EQ(mode, "exact");
  return text;
}

// To these ours adds the place, the cause, or the next step.
bool says_more_than(const std::string& error) {
  constexpr std::array<std::string_view, 7> kBeginnings{
      "Could not connect to Ankaios server",
      "Could not retrieve state.",
      "Command failed: 'No agent name specified",
      "Command failed: 'Invalid mapping key",
      "Command failed: 'Multiple workloads with the same name",
      "Command failed: 'For API version",
      "Command failed: 'Invalid manifest data provided: Is a directory"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(), [&](std::string_view beginning) {
    return error.starts_with(concat("error: ", beginning));
  });
}

// -- One case

class Replay {
 public:
  explicit Replay(bool reads_only)
      : reads_only_(reads_only), home_(directory("home")), elsewhere_(fs::current_path()) {}
  ~Replay() {
    fs::current_path(elsewhere_);
    fs::remove_all(root_);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // False for a case that is left out.
  bool run(const Json& recorded) {
    const std::string name = recorded["name"];
    if (is_left_out(recorded)) return false;
    SCOPED_TRACE(name);
    if (!meet_server(recorded)) return false;
    const auto difference = differences().find(name);
    RecordingConsole console = console_of(recorded);
    const int exit = run_ank(words_of(recorded["argv"]), environment_of(recorded), console);
    compare(recorded, console, exit,
            difference == differences().end() ? nullptr : &difference->second);
    return true;
  }

 private:
  static bool is_left_out(const Json& recorded) {
    const auto& setup = recorded["setup"];
    const auto& argv = recorded["argv"];
    const auto names = [&](const char* word) {
      return std::find(argv.begin(), argv.end(), word) != argv.end();
    };
    const bool is_usage = recorded["exit"] == 2;
    return !setup["agents"].empty() || setup.contains("server_args") ||
           recorded.contains("stdout_kind") || flag_at(recorded, "stderr_on_tty") ||
           recorded["exit"].is_string() || (!is_usage && (names("logs") || names("events"))) ||
           recorded["name"].get<std::string>().starts_with("fake_slow_");
  }

  // Cases of one session follow each other on one server.
  bool meet_server(const Json& recorded) {
    const auto& setup = recorded["setup"];
    const std::string name = recorded["name"];
    if (setup.contains("note") && setup["note"].is_string()) {
      machine_.reset();
      const auto script = script_of(name);
      if (!script) return false;
      scripted_ = std::make_unique<ScriptedServer>(*script);
      url_ = scripted_->url();
      return true;
    }
    const Json& manifest = setup["startup_manifest"];
    if (reads_only_ && manifest.is_string()) {
      machine_.reset();
      scripted_ = std::make_unique<ScriptedServer>(reading(manifest));
      url_ = scripted_->url();
      return true;
    }
    const bool goes_on = machine_ && manifest == manifest_ && setup["state"].size() >= steps_;
    steps_ = setup["state"].size();
    if (goes_on || !setup["server"]) return true;
    manifest_ = manifest;
    machine_ =
        std::make_unique<MachineServer>(manifest.is_string() ? manifest.get<std::string>() : "");
    url_ = machine_->url();
    return true;
  }

  RecordingConsole console_of(const Json& recorded) {
    fs::current_path(elsewhere_);
    fs::remove_all(home_);
    fs::create_directories(home_);
    directory_ = directory("work");
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    for (const auto& [path, text] : part_at(recorded, "home_files").items())
      write(home_ / path, text);
    for (const auto& [path, text] : part_at(recorded, "files").items())
      write(directory_ / path, text);
    for (const auto& [path, mode] : part_at(recorded, "modes").items())
      fs::permissions(directory_ / path,
                      static_cast<fs::perms>(std::stoi(mode.get<std::string>(), nullptr, 8)));
    fs::current_path(directory_);
    const bool is_terminal = flag_at(recorded, "tty");
    const std::size_t columns = is_terminal ? recorded["columns"].get<std::size_t>() : 0;
    RecordingConsole console =
        is_terminal ? RecordingConsole(columns == 0 ? 80 : columns) : RecordingConsole();
    if (recorded["stdin"].is_string()) console.input = recorded["stdin"];
    return console;
  }

  std::vector<std::string> words_of(const Json& argv) const {
    std::vector<std::string> words;
    for (const auto& word : argv) words.push_back(filled(word));
    return words;
  }

  Environment environment_of(const Json& recorded) const {
    Environment environment{{"HOME", home_.string()}};
    for (const auto& [name, value] : part_at(recorded, "env").items())
      environment[name] = filled(value);
    for (const auto& name : part_at(recorded, "unset_env")) environment.erase(name);
    return environment;
  }

  [[nodiscard]] std::string filled(const std::string& text) const {
    const std::string port = url_.substr(url_.rfind(':') + 1);
    std::string result = replaced(replaced(text, "{{url}}", url_), "{{port}}", port);
    result = replaced(replaced(result, "{{dir}}", directory_.string()), "{{home}}", home_.string());
    return result;
  }

  [[nodiscard]] std::string expected(const Json& recorded, const char* stream) const {
    std::string text = filled(recorded[stream]);
    text = replaced(text, "ank 1.1.0-pre\n", concat("ank ", kVersion, "\n"));
    if (!flag_at(recorded, "tty") || std::string(stream) == "stderr") text = without_colours(text);
    return text;
  }

  void compare(const Json& recorded, const RecordingConsole& console, int exit,
               const Difference* difference) const {
    const bool is_terminal = flag_at(recorded, "tty");
    const std::string out = is_terminal ? replaced(console.out, "\n", "\r\n") : console.out;
    if (difference != nullptr && difference->how == How::kNot) {
      const bool is_same = exit == recorded["exit"] && out == expected(recorded, "stdout") &&
                           console.err == expected(recorded, "stderr");
      EXPECT_FALSE(is_same) << "no longer differs: " << difference->reason;
      return;
    }
    EXPECT_EQ(recorded["exit"], exit) << console.err;
    // What the recording calls a defect is mended: the outcome is the same, with a text that helps.
    if ((difference != nullptr && difference->how == How::kExitCode) ||
        recorded["deviates"].is_string())
      return;
    if (recorded["exit"] == 2) {
      EXPECT_FALSE(console.err.empty());
      EXPECT_EQ(console.out, "");
      return;
    }
    if (recorded["stdout"] == "{{help}}") {
      EXPECT_FALSE(console.out.empty());
    } else {
      const std::string mode = text_at(recorded, "compare", "exact");
      EXPECT_EQ(canonical(mode, out), canonical(mode, expected(recorded, "stdout")));
    }
    const std::string mode = text_at(recorded, "compare_stderr", "exact");
    std::string error = canonical(mode, expected(recorded, "stderr"));
    std::string ours = canonical(mode, console.err);
    if (says_more_than(error)) {
      error.erase(error.find_last_not_of("'\n") + 1);
      ours = ours.substr(0, error.size());
    }
    EXPECT_EQ(ours, error) << console.err;
  }

  void write(const fs::path& path, const Json& text) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << filled(text);
  }
  [[nodiscard]] fs::path directory(const char* name) const { return root_ / name; }

  const bool reads_only_;  // no case changes what the server was started with
  const fs::path root_ =
      fs::temp_directory_path() / concat("tiphys-cli-vectors-", std::to_string(::getpid()));
  const fs::path home_;
  const fs::path elsewhere_;
  fs::path directory_;
  std::string url_ = "http://127.0.0.1:9";
  std::unique_ptr<MachineServer> machine_;
  std::unique_ptr<ScriptedServer> scripted_;
  Json manifest_;
  std::size_t steps_ = 0;
};

void replay(const std::string& file, std::size_t count, bool reads_only = false) {
  std::ifstream stream("tests/vectors/ankaios-cli/" + file);
  ASSERT_TRUE(stream.is_open()) << file;
  const Json cases = Json::parse(stream);
  std::size_t replayed = 0;
  Replay replay(reads_only);
  for (const auto& recorded : cases)
    if (replay.run(recorded)) ++replayed;
  EXPECT_EQ(replayed, count) << "of " << cases.size();
}

constexpr const char* kWords = "the sentence is ours and names the place";
constexpr const char* kNoDebugForms = "no Rust debug forms";
constexpr const char* kTagLists = "the tags of v0.1 are kept";
constexpr const char* kKeptInstance =
    "our server keeps the state of an instance that an update leaves as it is";
constexpr const char* kFinalIsFinal = "what runs when the state is fetched has arrived";
constexpr const char* kByteOrderMark = "YAML may begin with a byte order mark";
constexpr const char* kTextKeys = "every key is a text, so 17 is a name as good as w17";

const std::map<std::string, Difference>& differences() {
  static const std::map<std::string, Difference> kDiffers{
      {"apply_bad_yaml", {How::kExitCode, kWords}},
      {"apply_tab_indent", {How::kExitCode, kWords}},
      {"apply_two_documents", {How::kExitCode, kWords}},
      {"apply_duplicate_root_key", {How::kExitCode, kWords}},
      {"apply_duplicate_workload_key", {How::kExitCode, kWords}},
      {"apply_duplicate_field", {How::kExitCode, kWords}},
      {"apply_yaml_tag", {How::kExitCode, kWords}},
      {"apply_unknown_alias", {How::kExitCode, kWords}},
      {"apply_stdin_bad_yaml", {How::kExitCode, kWords}},
      {"apply_v01_bad_enum", {How::kExitCode, kWords}},
      {"delete_config_in_use", {How::kExitCode, kNoDebugForms}},
      {"delete_config_in_use_no_wait", {How::kExitCode, kNoDebugForms}},
      {"fake_close_delete_config", {How::kExitCode, kNoDebugForms}},
      {"fake_upd_error_delete_config", {How::kExitCode, kNoDebugForms}},
      {"fake_upd_silent_delete_config", {How::kExitCode, kNoDebugForms}},
      {"fake_upd_close_delete_config", {How::kExitCode, kNoDebugForms}},
      {"fake_upd_other_kind_delete_config", {How::kExitCode, kNoDebugForms}},
      {"apply_bom", {How::kNot, kByteOrderMark}},
      {"after_scalars", {How::kNot, kByteOrderMark}},
      {"after_deletes", {How::kNot, kByteOrderMark}},
      {"after_v01", {How::kNot, kTagLists}},
      {"after_v01_2", {How::kNot, kTagLists}},
      {"apply_schema_workload_name_number", {How::kNot, kTextKeys}},
      {"apply_schema_workload_name_bool", {How::kNot, kTextKeys}},
      {"apply_schema_rule_operation_nothing", {How::kNot, kKeptInstance}},
      {"apply_schema_rule_extra_key", {How::kNot, kKeptInstance}},
      {"apply_schema_unknown_workload_key", {How::kNot, kKeptInstance}},
      {"state_wildcard_inner", {How::kNot, "to our server the root is a map like any other"}},
      {"pem_env_empty", {How::kNot, "an empty path is no path"}},
      {"fake_upd_progress_pipe", {How::kNot, kFinalIsFinal}},
      {"fake_upd_progress_tty", {How::kNot, kFinalIsFinal}},
  };
  return kDiffers;
}

TEST(CliVectors, ApplyInput) { replay("apply_input.json", 92); }
TEST(CliVectors, ApplySchema) { replay("apply_schema.json", 83); }
TEST(CliVectors, GetStateAndTables) { replay("get_state_and_tables.json", 90, true); }
TEST(CliVectors, Global) { replay("global.json", 122); }
TEST(CliVectors, RunAndDelete) { replay("run_delete.json", 43); }
TEST(CliVectors, ScriptedServer) { replay("scripted_server.json", 88); }
TEST(CliVectors, Unreachable) { replay("unreachable.json", 12); }

}  // namespace
}  // namespace tiphys::cli
