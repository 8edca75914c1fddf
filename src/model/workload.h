#pragma once

// A workload as people write it (Workload), and as it is checked and sent to an agent
// (WorkloadSpec).
//
// A Workload has every field it needs, each of the right type, but its agent and runtime config may
// still be templates and its names are not looked at. A WorkloadSpec is the rendered workload with
// its instance name: there is no way to make one whose names or access rules break the rules.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rare.h"
#include "base/result.h"
#include "model/access_rules.h"
#include "model/execution_state.h"
#include "model/names.h"
#include "model/reading.h"
#include "model/tree.h"

namespace tiphys {

enum class RestartPolicy : std::uint8_t { kNever, kOnFailure, kAlways };
std::string_view to_string(RestartPolicy policy);
Result<RestartPolicy> parse_restart_policy(std::string_view text);

// What another workload must have reached before this one is created.
enum class AddCondition : std::uint8_t { kRunning, kSucceeded, kFailed };
std::string_view to_string(AddCondition condition);
Result<AddCondition> parse_add_condition(std::string_view text);
// Is the condition fulfilled by a dependency in that phase?
bool is_fulfilled(AddCondition condition, Phase dependency);

// What a dependent workload must have reached before this one is deleted.
enum class DeleteCondition : std::uint8_t { kRunning, kNotPendingNorRunning };
std::string_view to_string(DeleteCondition condition);
// Is the condition fulfilled by a dependent workload in that phase? One that itself waits for its
// start never holds a deletion back: both would wait for ever.
bool is_fulfilled(DeleteCondition condition, Phase dependent);

using Tags = std::map<std::string, std::string>;

struct File {
  enum class Encoding : std::uint8_t { kText, kBase64 };

  std::string mount_point;
  Encoding encoding = Encoding::kText;
  std::string content;

  friend bool operator==(const File&, const File&) = default;
};

// [impl->swdd~api-provides-spec-object-definitions~1]
struct Workload final : Tree::Object {
  std::string agent;
  std::string runtime;
  std::string runtime_config;
  RestartPolicy restart_policy = RestartPolicy::kNever;
  Rare<std::map<std::string, AddCondition>> dependencies;
  Rare<Tags> tags;
  Rare<std::map<std::string, std::string>>
      configs;  // alias in the templates -> key of a config item
  Rare<std::vector<File>> files;
  Rare<ControlInterfaceAccess> access;

  [[nodiscard]] std::optional<Tree> field(std::string_view key) const override;
  [[nodiscard]] Tree::Map fields(Empties empties) const override;

  friend bool operator==(const Workload& a, const Workload& b);
};
using WorkloadPtr = std::shared_ptr<const Workload>;

// Reads a workload; one that stands in the tree as an object is handed out as it is. White space
// around the runtime config is taken away here, once, so that it never changes an id.
Read<WorkloadPtr> read_workload(const Tree& tree, const Path& path);

bool needs_control_interface(const Workload& workload);

class WorkloadSpec final : public Tree::Object {
 public:
  // Checks a rendered workload and gives it its instance name.
  static Result<std::shared_ptr<const WorkloadSpec>> make(std::string_view name,
                                                          WorkloadPtr rendered);
  // Takes a workload from a server, which names the instance. Names and access rules are checked;
  // the id is the server's.
  static Result<std::shared_ptr<const WorkloadSpec>> received(InstanceName instance,
                                                              WorkloadPtr workload);
  // As somebody made it who is to be trusted: nothing is checked.
  static std::shared_ptr<const WorkloadSpec> unchecked(InstanceName instance, WorkloadPtr workload);

  [[nodiscard]] const InstanceName& instance() const { return instance_; }
  [[nodiscard]] const Workload& workload() const { return *workload_; }
  [[nodiscard]] const WorkloadPtr& shared_workload() const { return workload_; }

  [[nodiscard]] std::optional<Tree> field(std::string_view key) const override {
    return workload_->field(key);
  }
  [[nodiscard]] Tree::Map fields(Empties empties) const override {
    return workload_->fields(empties);
  }

  friend bool operator==(const WorkloadSpec& a, const WorkloadSpec& b) {
    return a.instance_ == b.instance_ &&
           (a.workload_ == b.workload_ || *a.workload_ == *b.workload_);
  }

 private:
  WorkloadSpec(InstanceName instance, WorkloadPtr workload)
      : instance_(std::move(instance)), workload_(std::move(workload)) {}

  InstanceName instance_;
  WorkloadPtr workload_;
};
using WorkloadSpecPtr = std::shared_ptr<const WorkloadSpec>;

struct DeletedWorkload {
  InstanceName instance;
  std::map<std::string, DeleteCondition>
      dependencies;  // dependent workload -> what it must have reached

  friend bool operator==(const DeletedWorkload&, const DeletedWorkload&) = default;
};

}  // namespace tiphys
