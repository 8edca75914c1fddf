#pragma once

// conmon is the small program that podman leaves beside every container: the parent of the container's first process.
// Its own command line says for which container it is there and into which folders it writes how that one ended. What of
// this we rely on, and what happens where it is not so, says docs/decisions/0010-podman-exits.md.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "shell/engine.h"

namespace tiphys::podman {

struct Conmon {
  shell::ContainerId container;
  std::string exit_file;
  std::string persist_folder;  // of newer versions: holds `oom`
  std::string bundle;          // of all versions: holds `oom`
  std::string pid_file;        // of the container's first process

  friend bool operator==(const Conmon&, const Conmon&) = default;
};

// Reads a command line as the kernel shows it, with a zero byte after each argument. Pure. Nothing when it is not that of
// a conmon of a container; the conmon of `podman exec` is none.
std::optional<Conmon> parse_conmon(std::string_view command_line);

// The conmon that is the parent of a process.
std::optional<Conmon> conmon_above(pid_t process);

// Finds the first process of a container that podman has just started, without asking podman. Looks through all processes
// once; from then on it knows where conmon writes the number down.
class ContainerProcesses {
 public:
  // A conmon that somebody came across.
  void learn(const Conmon& conmon);
  std::optional<pid_t> find(const shell::ContainerId& container);

 private:
  std::string before_id_;  // of the path of a pid file
  std::string after_id_;
  bool may_search_ =
      true;  // not again after a search in vain: this engine may have no conmon at all
};

// What conmon has left; nothing before it has.
std::optional<int> read_exit_code(const Conmon& conmon);
bool ran_out_of_memory(const Conmon& conmon);

}  // namespace tiphys::podman
