#include "io/runtimes/nerdctl/shim.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "base/strings.h"

namespace tiphys::nerdctl {

std::optional<commands::Keeper> parse_shim(std::string_view command_line, std::string_view folder) {
  const auto arguments = split(command_line, '\0');
  const auto program = arguments.front().substr(arguments.front().rfind('/') + 1);
  if (!program.starts_with("containerd-shim")) return std::nullopt;
  const auto option = std::find(arguments.begin(), arguments.end(), "-id");
  if (option == arguments.end() || std::next(option) == arguments.end()) return std::nullopt;
  const std::string id(*std::next(option));
  if (id.empty()) return std::nullopt;
  commands::Keeper keeper;
  keeper.container = {id};
  if (folder.ends_with(concat("/", id))) keeper.pid_file = concat(folder, "/init.pid");
  return keeper;
}

std::optional<commands::Keeper> read_shim(pid_t process) {
  const auto command_line = commands::command_line_of(process);
  std::error_code none;
  const auto folder =
      std::filesystem::read_symlink(concat("/proc/", std::to_string(process), "/cwd"), none);
  return parse_shim(command_line, folder.string());
}

}  // namespace tiphys::nerdctl
