#pragma once

// What an agent does about a container that it finds when the server tells it the complete list of its workloads.

#include <cstdint>
#include <string>

#include "core/workload/control_loop.h"
#include "model/execution_state.h"
#include "model/workload.h"

namespace tiphys::agent {

struct FoundWorkload {
  std::string runtime;
  InstanceName instance;
  ExecutionState state;
  workload::ContainerId container;
  bool can_start_again = true;  // the runtime can start the ended container again

  friend bool operator==(const FoundWorkload&, const FoundWorkload&) = default;
};

// What the server wants under the name of the found container.
enum class Wanted : std::uint8_t { kNothing, kSameInstance, kOtherInstance };
enum class Found : std::uint8_t { kRunning, kEndedWell, kOther };

// In the order in which containers of one name are looked at: the one that serves best comes first.
enum class Action : std::uint8_t {
  kResume,   // it is what is wanted: watch it
  kReuse,    // start the ended container again
  kReplace,  // take it away without a word, then create what is wanted
  kDiscard,  // nobody wants it: take it away and say so
};

// [impl->swdd~agent-existing-workloads-resume-existing~2]
// [impl->swdd~agent-existing-workloads-replace-updated~2]
// [impl->swdd~agent-existing-workloads-delete-unneeded~1]
constexpr Action harmonise(Wanted wanted, Found found) {
  constexpr Action kTable[3][3] = {
      //                   kRunning          kEndedWell        kOther
      /* kNothing       */ {Action::kDiscard, Action::kDiscard, Action::kDiscard},
      /* kSameInstance  */ {Action::kResume, Action::kReuse, Action::kReplace},
      /* kOtherInstance */ {Action::kReplace, Action::kReplace, Action::kReplace},
  };
  return kTable[static_cast<int>(wanted)][static_cast<int>(found)];
}
static_assert(harmonise(Wanted::kSameInstance, Found::kRunning) == Action::kResume);

// A workload of the same name for another runtime is another workload: (runtime, name) is what counts.
Wanted wanted_for(const FoundWorkload& found, const WorkloadSpec* wanted);
Found found_as(const FoundWorkload& found);

}  // namespace tiphys::agent
