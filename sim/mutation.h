#pragma once

// Ten ways in which the code between the machines and the world could be wrong. Each must be caught by a checker;
// a mutation that no seed notices would mean that the simulation looks away.

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tiphys::sim {

enum class Mutation : std::uint8_t {
  kNone,
  kDroppedReport,   // an agent's report never leaves
  kWrongReport,     // an agent's report says that the workload runs
  kDroppedCreate,   // the engine says "created" and does nothing
  kDoubledCreate,   // the engine creates two containers at once
  kWrongInstance,   // the engine runs the workload under the name of another one
  kDroppedDelete,   // the engine says "deleted" and does nothing
  kReorderedSends,  // two messages of the server to an agent change places
  kUnstoredCommit,  // the store says "committed" and does nothing
  kDroppedEvent,    // an event never leaves the server
  kDroppedLines,    // lines of a log never leave the agent
};

inline constexpr std::array<std::pair<std::string_view, Mutation>, 10> kMutations{{
    {"dropped-report", Mutation::kDroppedReport},
    {"wrong-report", Mutation::kWrongReport},
    {"dropped-create", Mutation::kDroppedCreate},
    {"doubled-create", Mutation::kDoubledCreate},
    {"wrong-instance", Mutation::kWrongInstance},
    {"dropped-delete", Mutation::kDroppedDelete},
    {"reordered-sends", Mutation::kReorderedSends},
    {"unstored-commit", Mutation::kUnstoredCommit},
    {"dropped-event", Mutation::kDroppedEvent},
    {"dropped-lines", Mutation::kDroppedLines},
}};

}  // namespace tiphys::sim
