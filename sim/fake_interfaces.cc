#include "sim/fake_interfaces.h"

#include <algorithm>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "model/protocol_version.h"

namespace tiphys::sim {

// The task, unless the interface is gone by then.
void FakeInterfaces::later(const PeerPtr& peer, Duration low, Duration high,
                           std::function<void()> task) {
  process_.after(world_.draw(low, high),
                 [weak = std::weak_ptr<Peer>(peer), task = std::move(task)] {
                   if (!weak.expired()) task();
                 });
}

FakeInterfaces::PeerPtr FakeInterfaces::find(shell::InterfaceNumber number) const {
  const auto peer = peers_.find(number);
  return peer == peers_.end() ? nullptr : peer->second;
}

void FakeInterfaces::open(shell::InterfaceNumber number, const InstanceName& instance,
                          std::function<void(Result<std::string>)> opened,
                          std::function<void(shell::InterfaceEvent)> sink) {
  for (const auto& [other, peer] : peers_)
    if (peer->name == instance.workload.value)
      return world_.fail(concat("a second control interface of ", peer->name));
  if (world_.fault("interface not opened", 1, 20))
    return process_.after(world_.draw(milliseconds(0), milliseconds(20)), [opened] {
      opened(fail(Code::kResourceExhausted, "no space for pipes"));
    });
  const auto peer = std::make_shared<Peer>();
  peer->sink = std::move(sink);
  peer->name = instance.workload.value;
  peers_.emplace(number, peer);
  process_.after(world_.draw(milliseconds(0), milliseconds(20)),
                 [opened, folder = "/run/" + to_string(instance)] { opened(folder); });
  live(peer);
}

void FakeInterfaces::live(const PeerPtr& peer) {
  later(peer, milliseconds(100), seconds(30), [this, weak = std::weak_ptr<Peer>(peer)] {
    const auto self = weak.lock();
    if (!self->is_served) return;
    if (self->is_read) {
      self->is_read = false;
      self->sink(something_to_say(*self));
    }
    live(self);
  });
}

shell::InterfaceEvent FakeInterfaces::something_to_say(Peer& peer) {
  if (world_.fault("garbage in a pipe", 1, 20)) return agent::Garbled{"no message"};
  if (world_.fault("request without content", 1, 20)) return agent::Unusable{"empty", {}};
  const bool greets = !peer.has_greeted || world_.fault("workload begins anew", 1, 10);
  if (greets && !world_.fault("hello forgotten", 1, 20)) {
    peer.has_greeted = true;
    return agent::Said{ControlInterfaceHello{std::string(kProtocolVersion)}, 10};
  }
  const bool may_see = world_.random().chance(2, 3);
  std::string id = concat("request-", std::to_string(++last_id_));
  peer.asked.emplace(id, may_see);
  return agent::Said{
      Request{std::move(id), CompleteStateRequest{{may_see ? "desiredState" : "agents"}, false}},
      20};
}

void FakeInterfaces::send(shell::InterfaceNumber number, FromAnkaios message) {
  const auto peer = find(number);
  if (!peer) return world_.fail("a message for a control interface that is not open");
  if (world_.fault("pipe not read", 1, 15)) {
    peer->has_missed = true;
    later(peer, milliseconds(500), milliseconds(600),
          [sink = peer->sink, lost = agent::undelivered(message)] { sink(lost); });
    return;
  }
  const Instant arrival = std::max(peer->last, world_.now()) + milliseconds(1);
  peer->last = arrival;
  world_.at(arrival, process_.guarded(
                         [this, weak = std::weak_ptr<Peer>(peer), message = std::move(message)] {
                           if (const auto self = weak.lock()) receive(*self, message);
                         }));
}

void FakeInterfaces::receive(Peer& peer, const FromAnkaios& message) {
  match(
      message,
      [&](const ControlInterfaceAccepted&) {
        if (!peer.has_greeted) world_.fail(concat(peer.name, " was accepted without a hello"));
        peer.is_accepted = true;
      },
      [](const ConnectionClosed&) {},
      [&](const Response& response) {
        if (!peer.is_accepted && !peer.has_missed)
          world_.fail(concat(peer.name, " was answered before it was accepted"));
        const auto asked = peer.asked.find(response.id);
        if (asked == peer.asked.end()) return;  // of the interface before this one
        if (!asked->second && !std::holds_alternative<ErrorResponse>(response.content))
          world_.fail(concat(peer.name, " was told what it may not see"));
        world_.count(asked->second ? "requests of workloads answered"
                                   : "requests of workloads denied");
        peer.asked.erase(asked);
      });
}

void FakeInterfaces::read_on(shell::InterfaceNumber number) {
  if (const auto peer = find(number)) peer->is_read = true;
}

void FakeInterfaces::stop_reading(shell::InterfaceNumber number) {
  if (const auto peer = find(number)) peer->is_served = false;
}

void FakeInterfaces::close(shell::InterfaceNumber number) {
  peers_.erase(number);  // it may have failed to open
}

}  // namespace tiphys::sim
