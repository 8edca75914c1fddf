#pragma once

// Mutating hooks: programs that see every change of workloads before it is stored, and may change or veto it.
//
//   plan ──lists──▶ hook ──lists──▶ hook … ──▶ what holds after them ──▶ commit
//
// A hook changes what is sent to agents (effective), never what users asked for (desired). So there are two maps: the
// workloads as rendered, which later updates are compared with, and the effective ones. Running a hook is for others.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/server/update.h"
#include "model/messages.h"

namespace tiphys::server {

inline constexpr const char* kDefaultHookFolder = "/usr/libexec/ankaios/hooks";

struct Hook {
  std::string name;
  std::string folder = kDefaultHookFolder;
  std::uint8_t priority = 0;  // the lowest runs first
  friend bool operator==(const Hook&, const Hook&) = default;
};

// Hooks of the same priority keep their order.
std::vector<Hook> in_order(std::vector<Hook> hooks);
std::string program_of(const Hook& hook);

// What became of one run.
struct HookUnchanged {};
struct HookChanged {
  UpdateWorkload lists;
};
struct HookVeto {
  std::string words;  // of the hook
};
struct HookFailed {
  std::string reason;
};
// It ended well, but its lists cannot be read.
struct HookUnreadable {
  std::string offence;
};
using HookAnswer = std::variant<HookUnchanged, HookChanged, HookVeto, HookFailed, HookUnreadable>;

// Why the update is refused: in the words for its requester, or in those for a start that fails.
enum class Refused : std::uint8_t { kUpdate, kStart };
std::optional<std::string> refusal_of(const Hook& hook, const HookAnswer& answer, Refused what);

// What the first hook gets. The plan was made from the workloads as rendered; what is to be deleted is named here as it
// runs, because a hook may have moved it.
UpdateWorkload lists_for_hooks(const UpdatePlan& plan, const Tree::Map& effective);

// Lets the plan do what the hooks made of its lists. `effective` is what holds now: workloads that the update does not
// touch stay as hooks left them, and so does one whose deletion a hook took back.
void follow_hooks(UpdatePlan& plan, const UpdateWorkload& lists, const Tree::Map& effective);

}  // namespace tiphys::server
