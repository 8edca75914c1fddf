#pragma once

// What both ends of the links agree on: the paths of the calls and how much a peer may ask of us.

#include <chrono>
#include <cstddef>
#include <string_view>

#include "io/rpc/limits.h"

namespace tiphys::link {

inline constexpr std::string_view kConnectAgent = "/grpc_api.AgentConnection/ConnectAgent";
inline constexpr std::string_view kConnectCli = "/grpc_api.CliConnection/ConnectCli";
inline constexpr std::string_view kConnectCommand = "/grpc_api.CommandConnection/ConnectCommand";
inline constexpr std::string_view kDryRunUpdate = "/tiphys_ext.Planner/DryRunUpdate";
inline constexpr std::string_view kGetStateAges = "/tiphys_ext.Observer/GetStateAges";
// The name that every server's certificate must hold, whatever the host is called.
inline constexpr std::string_view kServerName = "ank-server";

// Stock peers refuse messages that are larger.
inline constexpr std::size_t kStockMessageLimit = 4 * rpc::kMiB;
// Of messages that a peer does not take, beyond what its windows hold.
inline constexpr std::size_t kMostQueuedBytes = 64 * rpc::kMiB;
// Messages of one stream that are on their way to the machine.
inline constexpr int kMostUntakenMessages = 16;

// A lost peer is noticed within 20 s even when nothing is said.
inline rpc::HttpLimits agent_link_limits() {
  rpc::HttpLimits limits;
  limits.keepalive = std::chrono::seconds(10);
  return limits;
}

inline rpc::CallLimits server_call_limits() {
  rpc::CallLimits limits;
  limits.warn_above = kStockMessageLimit;
  return limits;
}

}  // namespace tiphys::link
