#include "core/agent/control_interfaces.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "core/agent/authorisation.h"
#include "model/protocol_version.h"

namespace tiphys::agent {
namespace {

constexpr const char* kDenied = "Access denied";
constexpr const char* kServerIsAway =
    "The server is away and too many requests wait for it already. Try again later.";
constexpr std::size_t kMaxCancelled = 1024;

// Roughly; a response is weighed only when it has to wait for a hello.
std::size_t weight(const Tree& tree) {
  std::size_t sum = sizeof(Tree);
  if (const auto* text = tree.string()) return sum + text->size();
  if (const auto* list = tree.list()) {
    for (const auto& each : *list) sum += weight(each);
    return sum;
  }
  tree.entries().for_each(
      [&](const std::string& key, const Tree& value) { sum += key.size() + weight(value); });
  return sum;
}

std::size_t weight(const Response& response) {
  return sizeof(Response) +
         match(
             response.content,
             [](const CompleteStateResponse& content) { return weight(content.complete_state); },
             [](const LogEntriesResponse& content) {
               std::size_t sum = 0;
               for (const auto& entry : content.entries) sum += sizeof entry + entry.message.size();
               return sum;
             },
             [](const auto&) { return std::size_t{0}; });
}

}  // namespace

Undelivered undelivered(const FromAnkaios& message) {
  return match(
      message,
      [](const Response& response) {
        const bool is_log = std::holds_alternative<LogEntriesResponse>(response.content);
        return Undelivered{is_log ? Parcel::kLogEntries : Parcel::kOtherResponse, response.id};
      },
      [](const ControlInterfaceAccepted&) { return Undelivered{Parcel::kAcceptance, {}}; },
      [](const ConnectionClosed&) { return Undelivered{Parcel::kClosing, {}}; });
}

// [impl->swdd~agent-create-control-interface-pipes-per-workload~1]
// [impl->swdd~agent-workload-obj-update-command~1]
InterfaceEffects ControlInterfaces::equip(const WorkloadSpec& spec) {
  const auto& [workload, id, agent] = spec.instance();
  const auto present = interfaces_.find(workload.value);
  const bool is_present = present != interfaces_.end();
  const bool is_wanted = needs_control_interface(spec.workload());
  const bool is_same = is_present && is_wanted && present->second.instance == spec.instance() &&
                       present->second.access == spec.workload().access;
  if (is_present && !is_same) close(workload);
  if (is_wanted && !is_same) open(spec);
  return std::exchange(effects_, {});
}

// [impl->swdd~agent-workload-obj-delete-command~1]
InterfaceEffects ControlInterfaces::drop(const WorkloadName& workload) {
  if (interfaces_.contains(workload.value)) close(workload);
  return std::exchange(effects_, {});
}

void ControlInterfaces::open(const WorkloadSpec& spec) {
  const InterfaceNumber number = ++last_number_;
  const std::string& name = spec.instance().workload.value;
  Interface opened{.number = number,
                   .instance = spec.instance(),
                   .access = spec.workload().access,
                   .early = {},
                   .cancelled = {}};
  interfaces_.emplace(name, std::move(opened));
  workloads_.emplace(number, name);
  effects_.emplace_back(OpenInterface{number, spec.instance()});
}

void ControlInterfaces::close(const WorkloadName& workload) {
  const auto node = interfaces_.extract(workload.value);
  const InterfaceNumber number = node.mapped().number;
  workloads_.erase(number);
  std::erase_if(waiting_, [&](const Waiting& each) { return each.number == number; });
  effects_.emplace_back(CloseInterface{number});
}

ControlInterfaces::Interface* ControlInterfaces::find(InterfaceNumber number) {
  const auto workload = workloads_.find(number);
  return workload == workloads_.end() ? nullptr : &interfaces_.at(workload->second);
}

// [impl->swdd~agent-converts-control-interface-message-to-ankaios-object~1]
InterfaceEffects ControlInterfaces::told(InterfaceNumber number, const InterfaceEvent& event) {
  Interface* interface = find(number);
  // Of an interface that is gone or closed, only what was under way can still come.
  if (interface == nullptr) return {};
  const bool is_closed = interface->stage == Stage::kClosed;
  match(
      event,
      [&](const Said& e) {
        if (!is_closed) said(*interface, e);
      },
      [&](const Unusable& e) {
        if (!is_closed) unusable(*interface, e);
      },
      [&](const Garbled& e) {
        if (!is_closed) garbled(*interface, e);
      },
      [&](const Undelivered& e) { lost(*interface, e); },
      [&](const NotOpened& e) { not_opened(*interface, e); });
  return std::exchange(effects_, {});
}

void ControlInterfaces::said(Interface& interface, const Said& event) {
  match(
      event.message, [&](const ControlInterfaceHello& hello) { greeted(interface, hello); },
      [&](const Request& request) {
        if (interface.stage == Stage::kAccepted)
          requested(interface, request, event.bytes);
        else
          end(interface, "Initial Hello missing!");
      });
  if (interface.stage != Stage::kClosed) effects_.emplace_back(ReadOn{interface.number});
}

// Every hello is answered: the one that says it again may be a container that was started anew.
void ControlInterfaces::greeted(Interface& interface, const ControlInterfaceHello& hello) {
  if (const Status fits = check_protocol_version(hello.protocol_version); !fits)
    return end(interface, fits.error().message);
  interface.stage = Stage::kAccepted;
  effects_.emplace_back(SendToWorkload{interface.number, ControlInterfaceAccepted{}});
  for (auto& response : std::exchange(interface.early, {}))
    effects_.emplace_back(SendToWorkload{interface.number, std::move(response)});
  interface.early_bytes = 0;
}

// [impl->swdd~agent-forward-request-from-control-interface-pipe-to-server~1]
// [impl->swdd~agent-adds-workload-prefix-id-control-interface-request~1]
void ControlInterfaces::requested(Interface& interface, Request request, std::size_t bytes) {
  if (!is_allowed(request, interface.access))
    return answer_error(interface, std::move(request.id), kDenied);
  if (std::holds_alternative<LogsRequest>(request.content)) interface.cancelled.erase(request.id);
  const bool has_room =
      interface.waiting_requests == 0 || (interface.waiting_requests < kMaxWaitingRequests &&
                                          interface.waiting_bytes + bytes <= kMaxWaitingBytes);
  if (!connected_ && !has_room)
    return answer_error(interface, std::move(request.id), kServerIsAway);
  request.id = concat(interface.instance.workload.value, "@", request.id);
  if (connected_) {
    effects_.emplace_back(Forward{std::move(request)});
    return;
  }
  ++interface.waiting_requests;
  interface.waiting_bytes += bytes;
  waiting_.push_back({interface.number, std::move(request)});
}

void ControlInterfaces::unusable(Interface& interface, const Unusable& event) {
  if (interface.stage == Stage::kBeforeHello) return end(interface, "Initial Hello missing!");
  if (event.request_id)
    answer_error(interface, *event.request_id, event.why.empty() ? kDenied : event.why);
  else
    complain(interface, "a message without content is ignored");
  effects_.emplace_back(ReadOn{interface.number});
}

void ControlInterfaces::garbled(Interface& interface, const Garbled& event) {
  if (interface.stage == Stage::kBeforeHello || event.is_lost)
    return end(interface, "Could not decode protobuf data");
  complain(interface, concat("what it wrote is ignored: ", event.why));
  effects_.emplace_back(ReadOn{interface.number});
}

// [impl->swdd~agent-handles-control-interface-input-pipe-not-read~1]
void ControlInterfaces::lost(Interface& interface, const Undelivered& event) {
  switch (event.parcel) {
    case Parcel::kAcceptance:
      if (interface.stage == Stage::kClosed) return;
      interface.stage = Stage::kClosed;
      complain(interface, "it did not open its input in time and is not served any more");
      effects_.emplace_back(StopReading{interface.number});
      return;
    case Parcel::kLogEntries:
      complain(interface, "log entries that it does not read are dropped");
      // Without the server there is no campaign any more. One is cancelled once, however much of it is under way.
      if (!connected_) return;
      if (interface.cancelled.size() >= kMaxCancelled) interface.cancelled.clear();
      if (interface.cancelled.insert(event.request_id).second)
        effects_.emplace_back(
            Forward{{concat(interface.instance.workload.value, "@", event.request_id),
                     LogsCancelRequest{}}});
      return;
    case Parcel::kClosing:
      return;
    case Parcel::kOtherResponse:
      complain(interface, "a response that it does not read is dropped");
      return;
  }
}

void ControlInterfaces::not_opened(const Interface& interface, const NotOpened& event) {
  const std::string name = interface.instance.workload.value;
  effects_.emplace_back(
      Complain{concat("Workload '", name, "' gets no control interface: ", event.why)});
  std::erase_if(waiting_,
                [number = interface.number](const Waiting& each) { return each.number == number; });
  workloads_.erase(interface.number);
  interfaces_.erase(name);
}

// [impl->swdd~agent-forward-responses-to-control-interface-pipe~1]
// [impl->swdd~agent-uses-id-prefix-forward-control-interface-response-correct-workload~1]
// [impl->swdd~agent-remove-id-prefix-forwarding-control-interface-response~1]
InterfaceEffects ControlInterfaces::respond(const Response& response) {
  const auto at = response.id.find('@');
  const auto entry =
      at == std::string::npos ? interfaces_.end() : interfaces_.find(response.id.substr(0, at));
  if (entry == interfaces_.end())
    return {Complain{concat("A response is dropped, no workload has a control interface for it: '",
                            response.id, "'")}};
  Interface& interface = entry->second;
  Response own = response;
  own.id.erase(0, at + 1);
  switch (interface.stage) {
    case Stage::kBeforeHello:
      hold(interface, std::move(own));
      break;
    case Stage::kAccepted:
      effects_.emplace_back(SendToWorkload{interface.number, std::move(own)});
      break;
    case Stage::kClosed:
      complain(interface, "a response is dropped because its control interface is closed");
      break;
  }
  return std::exchange(effects_, {});
}

void ControlInterfaces::hold(Interface& interface, Response response) {
  const std::size_t bytes = weight(response);
  if (!interface.early.empty() && (interface.early.size() >= kMaxWaitingResponses ||
                                   interface.early_bytes + bytes > kMaxWaitingBytes))
    return lost(interface, undelivered(response));
  interface.early_bytes += bytes;
  interface.early.push_back(std::move(response));
}

InterfaceEffects ControlInterfaces::connected() {
  connected_ = true;
  for (auto& [number, request] : std::exchange(waiting_, {}))
    effects_.emplace_back(Forward{std::move(request)});
  for (auto& [name, interface] : interfaces_) {
    interface.waiting_requests = 0;
    interface.waiting_bytes = 0;
  }
  return std::exchange(effects_, {});
}

void ControlInterfaces::end(Interface& interface, std::string reason) {
  interface.stage = Stage::kClosed;
  interface.early.clear();
  complain(interface, concat("its control interface is closed: ", reason));
  effects_.emplace_back(SendToWorkload{interface.number, ConnectionClosed{std::move(reason)}});
  effects_.emplace_back(StopReading{interface.number});
}

void ControlInterfaces::answer_error(const Interface& interface, std::string id, std::string text) {
  effects_.emplace_back(
      SendToWorkload{interface.number, Response{std::move(id), ErrorResponse{std::move(text)}}});
}

// A workload can go on like this for ever: ever fewer of its complaints are heard.
void ControlInterfaces::complain(Interface& interface, std::string_view text) {
  if (!std::has_single_bit(++interface.complaints)) return;
  effects_.emplace_back(
      Complain{concat("Workload '", interface.instance.workload.value, "': ", text)});
}

std::string to_string(const InterfaceEvent& event) {
  return match(
      event,
      [](const Said& e) {
        return match(
            e.message,
            [](const ControlInterfaceHello& hello) {
              return "said hello " + hello.protocol_version;
            },
            [](const Request& request) { return "said " + summary(ToServer(request)); });
      },
      [](const Unusable& e) {
        return concat("unusable request '", e.request_id.value_or("none"), "': ", e.why);
      },
      [](const Garbled& e) { return concat(e.is_lost ? "lost: " : "garbled: ", e.why); },
      [](const Undelivered& e) { return concat("undelivered '", e.request_id, "'"); },
      [](const NotOpened& e) { return "not opened: " + e.why; });
}

std::string to_string(const InterfaceEffect& effect) {
  const auto tell = [](std::string_view what, InterfaceNumber number) {
    return concat(what, " interface ", std::to_string(number));
  };
  return match(
      effect,
      [&](const OpenInterface& e) {
        return concat(tell("open", e.number), " of ", to_string(e.instance));
      },
      [&](const SendToWorkload& e) {
        return concat(
            tell("tell", e.number), ": ",
            match(
                e.message, [](const Response& response) { return summary(FromServer(response)); },
                [](const ControlInterfaceAccepted&) { return std::string("accepted"); },
                [](const ConnectionClosed& closed) { return "closed: " + closed.reason; }));
      },
      [&](const ReadOn& e) { return tell("read on", e.number); },
      [&](const StopReading& e) { return tell("stop reading", e.number); },
      [&](const CloseInterface& e) { return tell("close", e.number); },
      [](const Forward& e) { return "forward " + summary(ToServer(e.request)); },
      [](const Complain& e) { return "complain " + e.text; });
}

}  // namespace tiphys::agent
