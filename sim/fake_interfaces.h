#pragma once

// Control interfaces in virtual time, and the workloads at their other ends. Each says hello when its interface is open,
// asks for state that its rules allow and for state that they deny, and checks what it is told: nothing before its hello is
// accepted, and never what it may not see.
//
// While faults are on, interfaces fail to open, and workloads forget their hello, write garbage, stop reading and begin
// anew.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "shell/control_interfaces.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::sim {

class FakeInterfaces final : public shell::ControlInterfaces {
 public:
  // Of one life of an agent.
  FakeInterfaces(World& world, Process& process) : world_(world), process_(process) {}

  void open(shell::InterfaceNumber number, const InstanceName& instance,
            std::function<void(Result<std::string>)> opened,
            std::function<void(shell::InterfaceEvent)> sink) override;
  void send(shell::InterfaceNumber number, FromAnkaios message) override;
  void read_on(shell::InterfaceNumber number) override;
  void stop_reading(shell::InterfaceNumber number) override;
  void close(shell::InterfaceNumber number) override;

 private:
  struct Peer {
    std::function<void(shell::InterfaceEvent)> sink;
    std::string name;
    bool is_read = true;    // false between a message and the leave to send the next
    bool is_served = true;  // nothing is read any more otherwise
    bool has_greeted = false;
    bool is_accepted = false;
    bool has_missed = false;              // something that it was told, perhaps that it is accepted
    std::map<std::string, bool> asked{};  // id -> whether it may have an answer
    Instant last{};                       // what it is told comes in order
  };
  using PeerPtr = std::shared_ptr<Peer>;

  void live(const PeerPtr& peer);
  [[nodiscard]] shell::InterfaceEvent something_to_say(Peer& peer);
  void receive(Peer& peer, const FromAnkaios& message);
  void later(const PeerPtr& peer, Duration low, Duration high, std::function<void()> task);
  [[nodiscard]] PeerPtr find(shell::InterfaceNumber number) const;

  World& world_;
  Process& process_;
  std::map<shell::InterfaceNumber, PeerPtr> peers_;
  std::uint64_t last_id_ = 0;
};

}  // namespace tiphys::sim
