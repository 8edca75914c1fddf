#pragma once

// The programs that share one file, each with its own main function.

#include <string>
#include <vector>

#include "apps/arguments.h"
#include "io/host/log_sink.h"

namespace tiphys::apps {

int ank_server_main(int argc, char** argv);
int ank_agent_main(int argc, char** argv);

// The words after the program's name.
std::vector<std::string> words_of(int argc, char** argv);

// Says why the program ends, where that is to be said; answers with its exit code.
int report(const Stop& reason, host::LogSink& log);

}  // namespace tiphys::apps
