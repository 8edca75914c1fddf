#include "cli/completer.h"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/strings.h"
#include "cli/command_table.h"
#include "cli/completion.h"
#include "cli/completion_scripts.h"
#include "cli/inline_workers.h"
#include "cli/talk.h"
#include "io/host/resolver.h"
#include "model/path.h"

namespace tiphys::cli {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::milliseconds(1000);

std::string value_of(const Environment& environment, const char* name,
                     const std::string& fallback = {}) {
  const auto found = environment.find(name);
  return found == environment.end() ? fallback : found->second;
}

// The files that begin so, folders with a slash at their end. Hidden ones must be asked for.
std::vector<std::string> files_like(const std::string& word, const std::string& home) {
  const std::size_t slash = word.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : word.substr(0, slash + 1);
  const std::string beginning = word.substr(folder.size());
  const fs::path place = folder.empty()             ? fs::path(".")
                         : folder.starts_with("~/") ? fs::path(home + folder.substr(1))
                                                    : fs::path(folder);
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(beginning) || (beginning.empty() && name.starts_with('.'))) continue;
    std::error_code unknown;  // a link that leads nowhere is still a name
    files.push_back(concat(folder, name, entry->is_directory(unknown) ? "/" : ""));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> keys_below(const std::optional<Tree>& state, const Path& path) {
  std::vector<std::string> keys;
  const auto found = state ? get(*state, path) : std::nullopt;
  if (found)
    found->entries().for_each([&](const std::string& key, const Tree&) { keys.push_back(key); });
  return keys;
}

// What would not come through a list of lines, or would change the terminal, is not offered.
bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

std::string escaped_for_zsh(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == ':') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// In the form that the script of the shell reads.
std::string answer_for(std::string_view shell, const std::vector<Candidate>& candidates,
                       const std::string& separator) {
  std::vector<std::string> answers;
  for (const auto& [text, help] : candidates) {
    if (!is_printable(text)) continue;
    if (shell == "zsh")
      answers.push_back(help.empty() ? escaped_for_zsh(text)
                                     : concat(escaped_for_zsh(text), ":", help));
    else if (shell == "fish" || shell == "powershell")
      answers.push_back(help.empty() ? concat(text, "\n") : concat(text, "\t", help, "\n"));
    else
      answers.push_back(text);
  }
  return join(answers, shell == "fish" || shell == "powershell" ? "" : separator);
}

asio::awaitable<Result<Tree>> ask(Talk* talk, std::vector<std::string> masks) {
  auto opening = talk->open();
  const Status opened = co_await std::move(opening);
  if (!opened) co_return fail(opened.error());
  auto asking = talk->complete_state(std::move(masks));
  auto state = co_await std::move(asking);
  co_return state;
}

}  // namespace

std::optional<int> run_completion(const std::vector<std::string>& words,
                                  const Environment& environment, const StateSource& state,
                                  Console& console) {
  const std::string wanted = value_of(environment, "COMPLETE");
  if (wanted.empty() || wanted == "0") return std::nullopt;
  const std::string shell = fs::path(wanted).filename().string();  // COMPLETE=$SHELL is fine
  const auto script = completion_script(shell);
  if (!script) {
    console.print_to_stderr(concat("error: unknown shell `", shell,
                                   "`, expected one of `bash`, `elvish`, `fish`, `powershell`, "
                                   "`zsh`"));
    return 2;
  }

  auto begin = std::find(words.begin(), words.end(), "--");
  if (begin != words.end()) ++begin;
  std::vector<std::string> line(begin, words.end());
  if (line.empty()) {
    console.print(*script);
    return 0;
  }
  const std::string index_text = value_of(environment, "_CLAP_COMPLETE_INDEX");
  std::size_t index = line.size() - 1;
  std::from_chars(index_text.data(), index_text.data() + index_text.size(), index);
  if (index == 0) return 0;  // the name of the program, which the shell knows
  if (index < line.size()) line.resize(index + 1);
  if (index >= line.size()) line.emplace_back();  // an empty word that got lost on the way
  line.erase(line.begin());

  const CommandSpec& table = command_table();
  std::vector<std::string> global_words = line;
  global_words.pop_back();
  global_words.resize(count_of_global_words(table, global_words));
  const auto known = [&](WordKind kind, const std::string& word) -> std::vector<std::string> {
    switch (kind) {
      case WordKind::kFile:
        return files_like(word, value_of(environment, "HOME"));
      case WordKind::kWorkload:
        return keys_below(state(global_words, {"desiredState.workloads"}),
                          {{"desiredState", "workloads"}});
      case WordKind::kConfig:
        return keys_below(state(global_words, {"desiredState.configs"}),
                          {{"desiredState", "configs"}});
      case WordKind::kAgent:
        return keys_below(state(global_words, {"agents"}), {{"agents"}});
      case WordKind::kStateMask: {
        const auto found = state(global_words, {"desiredState", "workloadStates", "agents"});
        return found ? state_masks(*found) : std::vector<std::string>();
      }
      case WordKind::kManifestField:
        return manifest_field_names(word);
      case WordKind::kText:
        break;
    }
    return {};
  };
  console.print(
      answer_for(shell, complete(table, line, known), value_of(environment, "_CLAP_IFS", "\n")));
  return 0;
}

std::optional<Tree> fetch_state_quickly(Settings settings,
                                        const std::optional<host::TlsMaterial>& tls,
                                        std::vector<std::string> masks) {
  settings.response_timeout = std::min(settings.response_timeout, kPatience);
  settings.verbose = false;
  SilentConsole console;
  asio::io_context io(1);
  InlineWorkers workers;
  host::Resolver resolver(workers);
  Talk talk(io.get_executor(), resolver, settings, tls, console);
  std::optional<Tree> state;
  asio::co_spawn(io, ask(&talk, std::move(masks)),
                 [&](const std::exception_ptr& thrown, Result<Tree> answer) {
                   if (thrown) std::rethrow_exception(thrown);
                   if (answer) state = *std::move(answer);
                   io.stop();
                 });
  io.run();
  return state;
}

}  // namespace tiphys::cli
