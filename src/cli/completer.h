#pragma once

// Completion as shells ask for it. The environment says that they do:
//
//   COMPLETE=<shell> ank                    prints what the shell reads once
//   COMPLETE=<shell> ank -- ank get wor     prints what the last word may become
//
// with the number of the word in _CLAP_COMPLETE_INDEX, where it is not the last, and what shall divide the answers in
// _CLAP_IFS. These are the names that the scripts of stock Ankaios use.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "io/host/tls_files.h"
#include "model/tree.h"

namespace tiphys::cli {

// The state below the masks, from the server that the global options in the words lead to; none if anything is in the
// way: nobody wants to read an error in the middle of a line.
using StateSource = std::function<std::optional<Tree>(std::vector<std::string> global_words,
                                                      std::vector<std::string> masks)>;

// The exit code; none if nobody asks for completion. The words do not begin with the program's name.
std::optional<int> run_completion(const std::vector<std::string>& words,
                                  const Environment& environment, const StateSource& state,
                                  Console& console);

// One question, in not much more time than somebody at a keyboard is willing to wait.
std::optional<Tree> fetch_state_quickly(Settings settings,
                                        const std::optional<host::TlsMaterial>& tls,
                                        std::vector<std::string> masks);

// Prints nothing.
class SilentConsole final : public Console {
 public:
  void print(std::string_view) override {}
  void print_to_stderr(std::string_view) override {}
  Result<std::string> read_stdin() override { return std::string(); }
  [[nodiscard]] bool is_terminal() const override { return false; }
  [[nodiscard]] std::size_t width() const override { return 0; }
};

}  // namespace tiphys::cli
