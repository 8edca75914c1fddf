#include "io/runtimes/podman/conmon.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/strings.h"

namespace tiphys::podman {

std::optional<commands::Keeper> parse_conmon(std::string_view command_line) {
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
  return commands::Keeper{{id},
                          concat(exit_folder, "/", id),
                          value_of("--persist-dir"),
                          value_of("-b"),
                          value_of("-p")};
}

std::optional<commands::Keeper> read_conmon(pid_t process) {
  return parse_conmon(commands::command_line_of(process));
}

}  // namespace tiphys::podman
