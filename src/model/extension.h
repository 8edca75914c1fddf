#pragma once

// What only our own tools ask a server for, beside everything that they share with stock peers.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/messages.h"

namespace tiphys {

// What an update would do to a workload.
enum class Fate : std::uint8_t {
  kCreated,    // is new
  kReplaced,   // another instance takes its place: another agent, or another runtime config
  kUpdated,    // the same instance, deleted and started anew with other settings
  kDeleted,    // is no longer wanted
  kUnchanged,  // is named by the update and stays as it is
};
std::string_view to_string(Fate fate);

struct PlannedWorkload {
  std::string name;
  Fate fate = Fate::kUnchanged;
  std::optional<InstanceName> before;
  std::optional<InstanceName> after;
  // Clauses: what differs, and which config items lead to it.
  std::vector<std::string> reasons;

  friend bool operator==(const PlannedWorkload&, const PlannedWorkload&) = default;
};

struct DryRun {
  std::vector<PlannedWorkload> workloads;  // in ascending order of the names
  std::vector<std::string> warnings;
  std::vector<std::string> hooks;  // that the update itself would ask

  friend bool operator==(const DryRun&, const DryRun&) = default;
};

struct DryRunRequest {
  UpdateStateRequest update;
  friend bool operator==(const DryRunRequest&, const DryRunRequest&) = default;
};
// The error is the text that the requester of the update would get.
using DryRunResponse = std::variant<DryRun, ErrorResponse>;

struct StateAgesRequest {
  std::vector<std::string> workloads;  // none: all
  friend bool operator==(const StateAgesRequest&, const StateAgesRequest&) = default;
};

// For how long an instance has been in its state.
struct StateAge {
  InstanceName instance;
  std::chrono::milliseconds age{};
  friend bool operator==(const StateAge&, const StateAge&) = default;
};

struct StateAgesResponse {
  std::vector<StateAge> ages;
  friend bool operator==(const StateAgesResponse&, const StateAgesResponse&) = default;
};

// One line for a log or a trace; not meant to be read back.
std::string summary(const DryRunResponse& response);
std::string summary(const StateAgesResponse& response);

}  // namespace tiphys
