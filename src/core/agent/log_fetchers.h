#pragma once

// Who wants to read the logs of this agent's workloads, and how far they are. Pure: each function is told what happened and
// answers with what to do.
//
//   server ── request ──▶ campaign ── FetchLogs for each workload ──▶ runtime
//   server ◀── SendLogs, stop ──── lines in batches, then the end ◀── runtime
//
// A campaign has the id of its request and one fetch for each requested instance whose workload has a container; whatever
// else was asked for is stopped at once, so that nobody waits for it. It is forgotten when all its fetches have ended, when
// it is cancelled, when its id is used again, or when the server is lost. A server that ended the connection in good order
// finds its campaigns going on when the agent is back.
//
// A fetch has one batch of lines under way at most: the next is asked for when the link has let go of the last. Of all
// batches together the link is given so much that a server which does not read them costs little memory; the rest wait
// here, in the order in which they came.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/workload/control_loop.h"
#include "model/messages.h"

namespace tiphys::agent {

using FetchNumber = std::uint64_t;
using ReceiptNumber = std::uint64_t;

// Reported by LogsArrived, each time but the first after ContinueFetching, and then by LogsEnded.
struct FetchLogs {
  FetchNumber fetch;
  std::string runtime;
  workload::ContainerId container;
  LogsRequest options;  // as the server sent them
};
struct ContinueFetching {
  FetchNumber fetch;
};
// Nothing more is reported.
struct StopFetching {
  FetchNumber fetch;
};
// Answered by LogsSent when the link has let go of them, on their way or dropped.
struct SendLogs {
  ReceiptNumber receipt;
  LinkLogEntries entries;
};
// Why somebody gets less than he asked for.
struct LogsComplaint {
  std::string text;
};

using LogEffect =
    std::variant<FetchLogs, ContinueFetching, StopFetching, SendLogs, LinkLogsStop, LogsComplaint>;
using LogEffects = std::vector<LogEffect>;

// Of lines that the link has and has not let go of. More than this only by one batch.
inline constexpr std::size_t kMostUnsentLogs = std::size_t{4} << 20U;

class LogFetchers {
 public:
  // Where the logs of a workload are.
  struct Source {
    std::string runtime;
    workload::ContainerId container;
  };
  // Nothing when there is no such workload; a source without a container when it has none yet.
  struct Found {
    bool is_known = false;
    std::optional<Source> source = {};
  };
  using Find = std::function<Found(const WorkloadName&)>;

  [[nodiscard]] LogEffects request(const LinkLogsRequest& request, const Find& find);
  [[nodiscard]] LogEffects cancel(const std::string& request_id);

  [[nodiscard]] LogEffects arrived(FetchNumber number, std::vector<std::string> lines);
  // With a cause when it was not in good order.
  [[nodiscard]] LogEffects ended(FetchNumber number, const std::string& cause);
  [[nodiscard]] LogEffects sent(ReceiptNumber receipt);

  [[nodiscard]] LogEffects connected();
  [[nodiscard]] LogEffects disconnected(bool cleanly);

  // Campaigns that have not ended.
  [[nodiscard]] std::size_t size() const { return campaigns_.size(); }

 private:
  struct Fetch {
    std::string request_id;
    InstanceName instance;             // as it was requested
    std::vector<std::string> lines{};  // not sent yet
    bool waits = false;                // for its turn to send lines or its end
    bool has_ended = false;
  };
  struct Unsent {
    FetchNumber fetch;
    std::size_t bytes;
  };

  void stop_all(const std::set<FetchNumber>& fetches, LogEffects& effects);
  void wait(FetchNumber number, Fetch& fetch);
  void send_waiting(LogEffects& effects);
  void send(FetchNumber number, Fetch& fetch, LogEffects& effects);
  void finish(FetchNumber number, LogEffects& effects);

  bool connected_ = false;
  FetchNumber last_fetch_ = 0;
  ReceiptNumber last_receipt_ = 0;
  std::map<std::string, std::set<FetchNumber>> campaigns_;  // by request id; those that go on
  std::map<FetchNumber, Fetch> fetches_;
  std::deque<FetchNumber> waiting_;  // some may have been stopped since
  std::map<ReceiptNumber, Unsent> unsent_;
  std::size_t unsent_bytes_ = 0;
};

std::string to_string(const LogEffect& effect);

}  // namespace tiphys::agent
