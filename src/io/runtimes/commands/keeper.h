#pragma once

// The keeper of a container is the small program that its engine leaves above the container's first process: podman's
// conmon, containerd's shim. Its own command line or folder says for which container it is there and where it writes things
// down. What of this we rely on, and what happens where it is not so, says docs/decisions/0010-podman-exits.md.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shell/engine.h"

namespace tiphys::commands {

struct Keeper {
  shell::ContainerId container;
  std::string exit_file;       // empty when this kind of keeper leaves none
  std::string persist_folder;  // of newer conmons: holds `oom`
  std::string bundle;          // of all conmons: holds `oom`
  std::string pid_file;        // of the container's first process

  friend bool operator==(const Keeper&, const Keeper&) = default;
};

// What the process is, if it is the keeper of a container of the engine in question.
using ReadKeeper = std::function<std::optional<Keeper>(pid_t)>;

// The command line of a process as the kernel shows it, with a zero byte after each argument; empty when it is gone.
std::string command_line_of(pid_t process);

// The keeper that is the parent of a process.
std::optional<Keeper> keeper_above(pid_t process, const ReadKeeper& read);

// Finds the first process of a container that the engine has just started, without asking the engine. Looks through all
// processes once; from then on it knows where keepers write the number down.
class ContainerProcesses {
 public:
  explicit ContainerProcesses(ReadKeeper read) : read_(std::move(read)) {}

  // A keeper that somebody came across.
  void learn(const Keeper& keeper);
  std::optional<pid_t> find(const shell::ContainerId& container);

 private:
  const ReadKeeper read_;
  std::string before_id_;  // of the path of a pid file
  std::string after_id_;
  bool may_search_ =
      true;  // not again after a search in vain: this engine may have no such keeper at all
};

// What a keeper has left; nothing before it has.
std::optional<int> read_exit_code(const Keeper& keeper);
bool ran_out_of_memory(const Keeper& keeper);

}  // namespace tiphys::commands
