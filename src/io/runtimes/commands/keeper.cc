#include "io/runtimes/commands/keeper.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/strings.h"
#include "io/host/files.h"

namespace tiphys::commands {
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

}  // namespace

std::string command_line_of(pid_t process) { return content_of(proc_file(process, "cmdline")); }

std::optional<Keeper> keeper_above(pid_t process, const ReadKeeper& read) {
  const auto parent = parent_of(process);
  return parent ? read(*parent) : std::nullopt;
}

void ContainerProcesses::learn(const Keeper& keeper) {
  const auto id = keeper.pid_file.find(keeper.container.value);
  if (id == std::string::npos) return;
  before_id_ = keeper.pid_file.substr(0, id);
  after_id_ = keeper.pid_file.substr(id + keeper.container.value.size());
}

std::optional<pid_t> ContainerProcesses::find(const shell::ContainerId& container) {
  if (before_id_.empty()) {
    if (!may_search_) return std::nullopt;
    may_search_ = false;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      const auto process = number_in(entry.path().filename().string());
      const auto keeper = process ? read_(*process) : std::nullopt;
      if (keeper && keeper->container == container) learn(*keeper);
    }
    if (before_id_.empty()) return std::nullopt;
  }
  return number_in(content_of(concat(before_id_, container.value, after_id_)));
}

std::optional<int> read_exit_code(const Keeper& keeper) {
  if (keeper.exit_file.empty()) return std::nullopt;
  const auto code = number_in(content_of(keeper.exit_file));
  if (!code || *code < 0 || *code > kMaxExitCode) return std::nullopt;
  return code;
}

bool ran_out_of_memory(const Keeper& keeper) {
  const auto has_mark = [](const std::string& folder) {
    return !folder.empty() && ::access(concat(folder, "/oom").c_str(), F_OK) == 0;
  };
  return has_mark(keeper.persist_folder) || has_mark(keeper.bundle);
}

}  // namespace tiphys::commands
