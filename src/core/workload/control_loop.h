#pragma once

// Keeps one workload of an agent as its spec wants it. Pure: step() is told what happened and
// answers with what to do.
//
//              Create                     Created
//   (made) ─────────────▶ kCreating ─────────────────▶ kSettled ◀───────────── Resume
//                          ▲    │ CreateFailed            │ Update, Delete, restart policy
//              TimerFired  │    ▼                         ▼
//                     kBetweenRetries                 kDeleting ──Deleted──▶ kClearing ──▶ kCreating, kSettled, kEnded
//                                                      ▲    │ DeleteFailed
//                                          TimerFired  │    ▼
//                                                  kBetweenDeletes
//
// kClearing takes away what lies in the folder of the instance; it is passed over when nothing can lie there.
//
// A container that ends again and again soon after its start waits in kBetweenRestarts before the restart policy has its
// way; TimerFired then leads from there where it leads from kSettled.
//
// At most one call to the runtime is under way. A command that arrives meanwhile waits for the
// answer; of several waiting commands only the newest counts, and an instance that was skipped over
// is reported as removed.
//
// Every effect that is answered carries a token. An answer or a timer whose token is not the one
// waited for is stale and changes nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "base/named.h"
#include "model/execution_state.h"
#include "model/names.h"
#include "model/workload.h"

namespace tiphys::workload {

// What a runtime calls one container, pod or process.
using ContainerId = Named<struct ContainerIdTag>;

// Names one effect for its answer. The upper half is the loop, so that tokens of different loops
// never meet.
using Token = std::uint64_t;
using LoopNumber = std::uint32_t;
constexpr LoopNumber loop_of(Token token) { return static_cast<LoopNumber>(token >> 32U); }

// -- What a loop is told
// --------------------------------------------------------------------------------------------

// Start the workload; with `reuse`, by starting that ended container of the same instance again.
struct Create {
  std::optional<ContainerId> reuse;
};
// The container runs already; only watch it.
struct Resume {
  ContainerId container;
  bool can_start_again = true;  // the runtime can start the container again once it has ended
};
// Take away what an earlier run of the agent left behind, without a word about it, then start the workload.
struct Replace {
  InstanceName left_behind;
  ContainerId container;
};
// The same, but what takes its place is not to be started yet: an Update says when.
struct MakeRoom {
  ContainerId container;
};
// Take away what an earlier run of the agent left behind and nobody wants any more.
struct Discard {
  ContainerId container;
};
// Replace the instance by the new spec; without one only take it away.
struct Update {
  WorkloadSpecPtr spec;
};
struct Delete {};

struct Created {
  Token token;
  ContainerId container;
  bool can_start_again = true;
};
struct CreateFailed {
  Token token;
  std::string cause;
  bool may_succeed_later;
  bool left_something = false;  // half of it may still be there
};
struct Deleted {
  Token token;
};
struct DeleteFailed {
  Token token;
  std::string cause;
};
struct FolderCleared {
  Token token;
};
struct Observed {
  Token watch;
  ExecutionState state;
};
struct TimerFired {
  Token token;
};

using Event =
    std::variant<Create, Resume, Replace, MakeRoom, Discard, Update, Delete, Created, CreateFailed,
                 Deleted, DeleteFailed, FolderCleared, Observed, TimerFired>;

// -- What a loop wants done
// -----------------------------------------------------------------------------------------

// Answered by Created or CreateFailed.
struct CreateContainer {
  Token token;
  std::string runtime;
  WorkloadSpecPtr spec;
  std::optional<ContainerId> reuse;
};
// Answered by Deleted or DeleteFailed. What is gone already counts as deleted. Without a container: whatever a failed
// creation left of the instance.
struct DeleteContainer {
  Token token;
  std::string runtime;
  InstanceName instance;
  std::optional<ContainerId> container;
};
// What the agent has put beside the instance: its files, or all of it. Answered by FolderCleared, in any case.
struct ClearFolder {
  enum class Part : std::uint8_t { kFiles, kAll };
  Token token;
  InstanceName instance;
  Part part;
};
// Reports by Observed, at once and then whenever the state differs, until Unwatch.
struct Watch {
  Token token;
  std::string runtime;
  InstanceName instance;
  ContainerId container;
};
struct Unwatch {
  Token token;
};
// Answered by TimerFired.
struct ArmTimer {
  Token token;
  Duration after;
};
struct Report {
  InstanceName instance;
  ExecutionState state;
};
// The loop has come to its end; its owner forgets it.
struct Ended {};

using Effect = std::variant<CreateContainer, DeleteContainer, ClearFolder, Watch, Unwatch, ArmTimer,
                            Report, Ended>;
using Effects = std::vector<Effect>;

inline constexpr int kMaxRetries = 20;
inline constexpr Duration kRetryPause = std::chrono::seconds(1);

// Without an end, a retry comes after a random pause, the longest of which doubles from the first to the second.
struct Retries {
  bool without_end = false;
  std::uint64_t seed = 0;
};
inline constexpr Duration kFirstRetryPause = std::chrono::milliseconds(500);
inline constexpr Duration kLongestRetryPause = std::chrono::minutes(5);

// A failed delete is tried again on its own, silently, with a pause that doubles from the first to
// the second.
inline constexpr Duration kFirstDeletePause = std::chrono::seconds(10);
inline constexpr Duration kLongestDeletePause = std::chrono::minutes(5);
// The restart policy acts at once, unless the container before this one ended too soon as well: then after a pause that
// doubles from the first to the second. A container that lasted this long begins anew.
inline constexpr Duration kFirstRestartPause = std::chrono::seconds(1);
inline constexpr Duration kLongestRestartPause = std::chrono::seconds(30);
inline constexpr Duration kLongEnoughToRestartAtOnce = std::chrono::seconds(10);

class ControlLoop {
 public:
  ControlLoop(LoopNumber number, WorkloadSpecPtr spec, Retries retries = {});
  // A loop for what an earlier run of the agent left behind; the spec is not known.
  ControlLoop(LoopNumber number, InstanceName instance, std::string runtime, Retries retries = {});

  // The effects are to be performed in this order; each that carries a token is answered once.
  [[nodiscard]] Effects step(const Event& event, Instant now);

  // What the loop works towards: the spec of the newest command, or nothing when that is a delete.
  [[nodiscard]] WorkloadSpecPtr wanted() const;
  // Whether it wants something, has no container for it and makes none any more.
  [[nodiscard]] bool has_given_up() const;
  // Whether it has given up that instance.
  [[nodiscard]] bool lacks(const std::string& runtime, const InstanceName& instance) const;
  // Could this container be the one that the loop has in hand? While a creation is under way its id is not known yet.
  [[nodiscard]] bool may_own(const std::string& runtime, const InstanceName& instance,
                             const ContainerId& container) const;
  // The instance whose states the loop reports now.
  [[nodiscard]] const InstanceName& instance() const { return instance_; }
  // Whether it has something of that instance, or will have.
  [[nodiscard]] bool speaks_of(const InstanceName& instance) const;
  // What it last said of that instance, if anything.
  [[nodiscard]] const std::optional<ExecutionState>& last_report() const { return last_report_; }
  // The instance was left behind and goes, or went, without a word.
  [[nodiscard]] bool is_silent() const { return silent_ || gone_; }
  [[nodiscard]] LoopNumber number() const { return number_; }
  [[nodiscard]] const std::string& runtime() const { return runtime_; }
  // Once it is created, until it is gone.
  [[nodiscard]] const std::optional<ContainerId>& container() const { return container_; }

 private:
  enum class Stage : std::uint8_t {
    kSettled,
    kCreating,
    kBetweenRetries,
    kDeleting,
    kClearing,
    kBetweenDeletes,
    kBetweenRestarts,
    kEnded
  };

  // Where a delete leads to: a new spec, nothing for a while, or the end of the loop.
  struct Target {
    WorkloadSpecPtr spec = nullptr;
    bool ends = false;
    bool anew = false;  // it was to end before: what comes begins a new life, in whatever runtime
  };

  Effects handle(const Event& event, Instant now);
  Effects command(Target target);
  [[nodiscard]] bool replaces_quietly(const Target& newer) const;
  Effects leave_instance(Target target);
  Effects delete_container();
  Effects clear_folder();
  [[nodiscard]] ClearFolder::Part part_to_clear() const;
  Effects arrive();
  Effects start(std::optional<ContainerId> reuse);
  Effects create(std::optional<ContainerId> reuse);
  Effects created(const Created& event, Instant now);
  Effects create_failed(const CreateFailed& event);
  Effects deleted(const Deleted& event);
  Effects delete_failed(const DeleteFailed& event);
  Effects folder_cleared(const FolderCleared& event);
  Effects observed(const Observed& event, Instant now);
  Effects timer_fired(const TimerFired& event);
  Effects watch(const ContainerId& container, Instant now);
  [[nodiscard]] Duration pause_before_retry() const;
  Duration pause_before_restart(Instant now);
  Effects restart();

  [[nodiscard]] Report report(Phase phase, std::string info = {}) const;
  // Makes sure that an instance which a newer command skips over is reported as removed.
  void skip(const Target& skipped, const Target& newer, Effects& effects) const;
  Token new_token();

  const LoopNumber number_;
  const Retries retries_;
  std::uint32_t last_token_ = 0;
  std::string runtime_;  // of the first spec; an update never moves a workload to another runtime

  InstanceName instance_;  // the one that runs, comes or goes
  WorkloadSpecPtr spec_;   // of that instance; none for a left-behind one
  std::optional<ExecutionState> last_report_;
  std::optional<ContainerId> container_;
  bool can_start_again_ = true;  // the container, once it has ended
  bool may_have_folder_ = false;
  bool left_something_ = false;  // by a failed creation, under an id that nobody knows
  std::optional<Token> watch_;

  Stage stage_ = Stage::kSettled;
  Token awaited_ = 0;              // the answer or timer that moves the stage on
  std::optional<Target> waiting_;  // the newest command while a call is under way
  std::optional<Target> target_;   // where kDeleting and kBetweenDeletes lead to
  ClearFolder::Part clearing_ = ClearFolder::Part::kFiles;  // what kClearing takes away
  bool began_anew_ = false;  // a new life has begun, with nothing in it yet
  bool gone_ = false;        // without a word, and nothing has taken its place yet
  bool silent_ = false;      // what is being deleted was left behind and has a successor
  int failures_ = 0;         // of creating the current spec
  Duration delete_pause_ = kFirstDeletePause;
  Instant watched_since_;          // when the current container was created or found
  Duration next_restart_pause_{};  // zero until a container ended too soon
  bool ended_well_ = false;        // the container that is to be started again
};

std::string to_string(const Event& event);
std::string to_string(const Effect& effect);

}  // namespace tiphys::workload
