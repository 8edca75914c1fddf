#pragma once

// Who may speak to the agent: one control interface for each workload that has allow rules. Part of the node machine and as
// pure as it: each function is told something and answers with what to do.
//
//   (opened) ──Hello──▶ accepted ──Hello of another version──▶ closed
//        └──anything but a Hello, garbage, an acceptance that nobody takes──▶ closed
//
// A closed interface stays closed until the workload gets another one: its folder or its rules have to change. The world
// tells one thing that a workload says and waits for ReadOn before the next, so that a workload can never flood the agent.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "model/access_rules.h"
#include "model/messages.h"
#include "model/workload.h"

namespace tiphys::agent {

// Never used twice while an agent runs.
using InterfaceNumber = std::uint64_t;

// -- What the interfaces are told -----------------------------------------------------------------------------------

struct Said {
  ToAnkaios message;
  std::size_t bytes = 0;  // that it took in the pipe
};
// A message that can be decoded and still asks for nothing: it has no content, or a part of it makes no sense.
struct Unusable {
  std::optional<std::string> request_id;  // when it is at least a request
  std::string why;                        // empty: no content
};
// Bytes that are no message.
struct Garbled {
  std::string why;
  bool is_lost = false;  // nobody knows where the next message begins
};
// What it was that the workload did not take in time.
enum class Parcel : std::uint8_t { kAcceptance, kClosing, kLogEntries, kOtherResponse };
struct Undelivered {
  Parcel parcel;
  std::string request_id;
};
// There is no such interface after all.
struct NotOpened {
  std::string why;
};
using InterfaceEvent = std::variant<Said, Unusable, Garbled, Undelivered, NotOpened>;

// What is to be told when the message could not be delivered.
Undelivered undelivered(const FromAnkaios& message);

// -- What the interfaces want done ----------------------------------------------------------------------------------

// Make the pipes, or take those that are there, and read. Answered by NotOpened if that fails.
struct OpenInterface {
  InterfaceNumber number;
  InstanceName instance;
};
struct SendToWorkload {
  InterfaceNumber number;
  FromAnkaios message;
};
// The next message may come.
struct ReadOn {
  InterfaceNumber number;
};
// Nothing more is read; what was sent is still delivered, then nobody serves the pipes any more.
struct StopReading {
  InterfaceNumber number;
};
// Take the pipes away.
struct CloseInterface {
  InterfaceNumber number;
};
struct Forward {
  Request request;  // to the server
};
struct Complain {
  std::string text;
};
using InterfaceEffect = std::variant<OpenInterface, SendToWorkload, ReadOn, StopReading,
                                     CloseInterface, Forward, Complain>;
using InterfaceEffects = std::vector<InterfaceEffect>;

// Of each workload, while the server is away and before the workload has said hello. A single message may be larger.
inline constexpr std::size_t kMaxWaitingRequests = 128;
inline constexpr std::size_t kMaxWaitingResponses = 1024;
inline constexpr std::size_t kMaxWaitingBytes = std::size_t{4} << 20U;

class ControlInterfaces {
 public:
  // The workload is about to be created, updated or resumed with this spec: its interface is kept, opened, replaced or
  // dropped.
  [[nodiscard]] InterfaceEffects equip(const WorkloadSpec& spec);
  // The workload is about to be deleted.
  [[nodiscard]] InterfaceEffects drop(const WorkloadName& workload);

  [[nodiscard]] InterfaceEffects told(InterfaceNumber number, const InterfaceEvent& event);
  // The server answers `<workload>@<id>`.
  [[nodiscard]] InterfaceEffects respond(const Response& response);

  // What waited for the server goes out.
  [[nodiscard]] InterfaceEffects connected();
  void disconnected() { connected_ = false; }

 private:
  enum class Stage : std::uint8_t { kBeforeHello, kAccepted, kClosed };

  struct Interface {
    InterfaceNumber number;
    InstanceName instance;
    ControlInterfaceAccess access;
    Stage stage = Stage::kBeforeHello;
    std::vector<Response> early;  // came before the hello
    std::size_t early_bytes = 0;
    std::size_t waiting_requests = 0;  // for the server
    std::size_t waiting_bytes = 0;
    std::set<std::string> cancelled;  // log campaigns that were cancelled because nobody read
    std::uint64_t complaints = 0;
  };
  struct Waiting {
    InterfaceNumber number;
    Request request;
  };

  void open(const WorkloadSpec& spec);
  void close(const WorkloadName& workload);
  [[nodiscard]] Interface* find(InterfaceNumber number);

  void said(Interface& interface, const Said& event);
  void greeted(Interface& interface, const ControlInterfaceHello& hello);
  void requested(Interface& interface, Request request, std::size_t bytes);
  void unusable(Interface& interface, const Unusable& event);
  void garbled(Interface& interface, const Garbled& event);
  void lost(Interface& interface, const Undelivered& event);
  void not_opened(const Interface& interface, const NotOpened& event);
  void hold(Interface& interface, Response response);
  void end(Interface& interface, std::string reason);
  void answer_error(const Interface& interface, std::string id, std::string text);
  void complain(Interface& interface, std::string_view text);

  std::map<std::string, Interface> interfaces_;       // by workload name
  std::map<InterfaceNumber, std::string> workloads_;  // whose interface that is
  std::deque<Waiting> waiting_;                       // requests, while the server is away
  InterfaceNumber last_number_ = 0;
  bool connected_ = false;
  InterfaceEffects effects_;  // of the call under way
};

std::string to_string(const InterfaceEvent& event);
std::string to_string(const InterfaceEffect& effect);

}  // namespace tiphys::agent
