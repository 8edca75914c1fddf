#include "io/runtimes/podman/conmon.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "base/strings.h"
#include "io/host/files.h"

namespace tiphys::podman {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxExitCode = 255;

// Empty when it cannot be read: a process may end, and with it what /proc has of it, between open and read.
std::string content_of(const std::string& path) {
  return host::read_file(path, host::FileKind::kRegular).value_or(std::string());
}

std::optional<int> number_in(std::string_view text) {
  text = trim(text);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string proc_file(pid_t process, std::string_view name) {
  return concat("/proc/", std::to_string(process), "/", name);
}

std::optional<pid_t> parent_of(pid_t process) {
  const auto stat = content_of(proc_file(process, "stat"));
  // number (name) state parent …, and the name may hold anything
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  const auto fields = split(std::string_view(stat).substr(end + 1), ' ');
  if (fields.size() < 3) return std::nullopt;
  return number_in(fields[2]);
}

std::optional<Conmon> conmon_at(pid_t process) {
  return parse_conmon(content_of(proc_file(process, "cmdline")));
}

}  // namespace

std::optional<Conmon> parse_conmon(std::string_view command_line) {
  const auto arguments = split(command_line, '\0');
  const auto program = arguments.front();
  if (program != "conmon" && !program.ends_with("/conmon")) return std::nullopt;
  const auto value_of = [&arguments](std::string_view option) {
    const auto found = std::find(arguments.begin(), arguments.end(), option);
    return found == arguments.end() || std::next(found) == arguments.end()
               ? std::string()
               : std::string(*std::next(found));
  };
  if (!value_of("--exec-process-spec").empty()) return std::nullopt;
  const auto id = value_of("-c");
  const auto exit_folder = value_of("--exit-dir");
  if (id.empty() || exit_folder.empty()) return std::nullopt;
  return Conmon{{id},
                concat(exit_folder, "/", id),
                value_of("--persist-dir"),
                value_of("-b"),
                value_of("-p")};
}

std::optional<Conmon> conmon_above(pid_t process) {
  const auto parent = parent_of(process);
  return parent ? conmon_at(*parent) : std::nullopt;
}

void ContainerProcesses::learn(const Conmon& conmon) {
  const auto id = conmon.pid_file.find(conmon.container.value);
  if (id == std::string::npos) return;
  before_id_ = conmon.pid_file.substr(0, id);
  after_id_ = conmon.pid_file.substr(id + conmon.container.value.size());
}

std::optional<pid_t> ContainerProcesses::find(const shell::ContainerId& container) {
  if (before_id_.empty()) {
    if (!may_search_) return std::nullopt;
    may_search_ = false;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      const auto process = number_in(entry.path().filename().string());
      const auto conmon = process ? conmon_at(*process) : std::nullopt;
      if (conmon && conmon->container == container) learn(*conmon);
    }
    if (before_id_.empty()) return std::nullopt;
  }
  return number_in(content_of(concat(before_id_, container.value, after_id_)));
}

std::optional<int> read_exit_code(const Conmon& conmon) {
  const auto code = number_in(content_of(conmon.exit_file));
  if (!code || *code < 0 || *code > kMaxExitCode) return std::nullopt;
  return code;
}

bool ran_out_of_memory(const Conmon& conmon) {
  const auto has_mark = [](const std::string& folder) {
    return !folder.empty() && ::access(concat(folder, "/oom").c_str(), F_OK) == 0;
  };
  return has_mark(conmon.persist_folder) || has_mark(conmon.bundle);
}

}  // namespace tiphys::podman
