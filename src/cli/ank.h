#pragma once

// The program `ank`: asks an Ankaios server for its state, and changes it.
//
//   0 done · 1 failed, and stderr says why · 2 the words make no command

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/options.h"

namespace tiphys::cli {

// What main() calls.
int run_ank(int argc, char** argv);

// The same with everything that a process has around it as an argument. The words do not begin with
// the program's name.
int run_ank(const std::vector<std::string>& words, const Environment& environment,
            Console& console);

}  // namespace tiphys::cli
