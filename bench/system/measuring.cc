#include "bench/system/measuring.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "bench/process.h"

namespace tiphys::bench {

namespace fs = std::filesystem;

Result<SystemOptions> parse_system_options(const std::vector<std::string>& words,
                                           const std::vector<std::string>& names) {
  SystemOptions options;
  std::string only;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string* value = words[i] == "--peer-dir"                 ? &options.peer_dir
                         : words[i] == "--image"                  ? &options.image
                         : words[i] == "--only" && !names.empty() ? &only
                                                                  : nullptr;
    if (value == nullptr) {
      rest.push_back(words[i]);
      continue;
    }
    if (++i == words.size()) return fail(Code::kInvalidArgument, words[i - 1] + " needs a value");
    *value = words[i];
  }
  for (const auto name : split(only, ',')) {
    if (name.empty()) continue;
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fail(Code::kInvalidArgument, concat("--only: there is no ", name));
    options.only.emplace_back(name);
  }
  TIPHYS_TRY(options.common, parse_options(rest));
  return options;
}

bool is_wanted(const SystemOptions& options, const std::string& name) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), name) != options.only.end();
}

double ms_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

Status succeed(const std::vector<std::string>& command) {
  if (auto output = output_of(command); !output) return fail(output.error());
  return {};
}

Round constant(const std::vector<double>& figures) {
  return [=]() -> Figures { return figures; };
}

Round once(const Round& round) {
  return [round, measured = std::make_shared<std::optional<Figures>>()]() -> Figures {
    if (!*measured) *measured = round();
    return **measured;
  };
}

std::string manifest_of(const std::string& agent, int workloads, const Service& service) {
  const auto list = [](const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += concat(text.empty() ? "\"" : ", \"", word, "\"");
    return concat("[", text, "]");
  };
  std::string text = "apiVersion: v1\nworkloads:\n";
  for (int i = 0; i < workloads; ++i)
    text += concat("  bench_", std::to_string(i), ":\n    agent: ", agent,
                   "\n    runtime: podman\n    restartPolicy: NEVER\n", service.more,
                   "    runtimeConfig: |\n      image: ", service.image,
                   "\n      commandOptions: ", list(service.options),
                   "\n      commandArgs: ", list(service.arguments), "\n");
  return text;
}

RealContainers::~RealContainers() {
  const auto ids = output_of({"podman", "ps", "-aq", "--filter", "label=agent=" + agent_});
  if (!ids) return;
  for (const auto id : split(*ids, '\n'))
    if (!id.empty()) static_cast<void>(succeed({"podman", "rm", "-f", "-t", "0", std::string(id)}));
}

StubPodman::StubPodman(const fs::path& programs)
    : program_(programs.parent_path() / "stub" / "podman") {
  fs::create_directory(folder_.path("podman"));
}

std::vector<std::string> StubPodman::environment() const {
  const char* path = std::getenv("PATH");
  return {concat("STUB_PODMAN=", folder_.path("podman")),
          concat("PATH=", program_.parent_path().string(), ":", path == nullptr ? "" : path)};
}

void StubPodman::use() const { ::setenv("STUB_PODMAN", folder_.path("podman").c_str(), 1); }

// What runs for its containers has the folder in its command line.
std::vector<pid_t> StubPodman::processes() const {
  std::vector<pid_t> found;
  const std::string word = folder_.path("podman") + "/";
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator("/proc", problem)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc())
      continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(file), {});
    if (line.find(word) != std::string::npos) found.push_back(process);
  }
  return found;
}

StubPodman::~StubPodman() {
  for (const pid_t process : processes()) ::kill(process, SIGKILL);
}

}  // namespace tiphys::bench
