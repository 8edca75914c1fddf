#include "apps/programs.h"

#include <cstdio>

namespace tiphys::apps {

std::vector<std::string> words_of(int argc, char** argv) {
  return argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>();
}

int report(const Stop& reason, host::LogSink& log) {
  switch (reason.kind) {
    case Stop::Kind::kAnswer:
      std::fputs(reason.text.c_str(), stdout);
      break;
    case Stop::Kind::kUsage:
      std::fputs(reason.text.c_str(), stderr);
      break;
    case Stop::Kind::kFatal:
      log.fatal(reason.text);
      break;
  }
  return exit_code(reason.kind);
}

}  // namespace tiphys::apps
