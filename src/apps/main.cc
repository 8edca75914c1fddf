// One file with several names: what it is depends on the name it was called by. Programs of one file share its memory.

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "apps/programs.h"
#include "base/strings.h"
#include "base/version.h"
#include "cli/ank.h"

namespace {

struct Name {
  std::string_view name;
  int (*main)(int argc, char** argv);
};

constexpr std::array kPrograms{
    Name{"ank", [](int argc, char** argv) { return tiphys::cli::run_ank(argc, argv); }},
    Name{"ank-server", tiphys::apps::ank_server_main},
    Name{"ank-agent", tiphys::apps::ank_agent_main},
};

// Scripts ask for it often, and it needs no parser.
bool asks_for_version(std::string_view word) { return word == "--version" || word == "-V"; }

}  // namespace

int main(int argc, char** argv) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  const std::string_view called = path.substr(path.find_last_of('/') + 1);
  for (const auto& program : kPrograms) {
    if (program.name != called) continue;
    if (argc == 2 && asks_for_version(argv[1])) {
      std::signal(SIGPIPE, SIG_IGN);  // whoever asked may have gone
      std::printf("%.*s %.*s\n", static_cast<int>(program.name.size()), program.name.data(),
                  static_cast<int>(tiphys::kVersion.size()), tiphys::kVersion.data());
      return std::fflush(stdout) == 0 || errno == EPIPE ? 0 : 1;
    }
    return program.main(argc, argv);
  }

  std::string message = tiphys::concat("error: there is no program '", called,
                                       "' in this file; call it by one of:\n");
  for (const auto& program : kPrograms) message += tiphys::concat("  ", program.name, "\n");
  std::fputs(message.c_str(), stderr);
  return 2;
}
