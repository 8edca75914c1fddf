#pragma once

// Which workloads have the folder of their control interface, for the creations that mount it: one that comes while the
// interface is being opened waits for that, and an opening waits while the folder of the workload is being cleared. Holds
// no interface itself.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/control_interfaces.h"
#include "model/names.h"

namespace tiphys::shell {

class InterfaceFolders {
 public:
  using Then = std::function<void(std::optional<std::string> folder)>;

  void opening(agent::InterfaceNumber number, const InstanceName& instance);
  // Without a folder when there is none.
  void opened(agent::InterfaceNumber number, const std::optional<std::string>& folder);
  void closed(agent::InterfaceNumber number);
  [[nodiscard]] bool is_opening(agent::InterfaceNumber number) const {
    return entries_.contains(number);
  }

  void clearing(const InstanceName& instance);
  void cleared(const InstanceName& instance);
  // `open` is called once: now, or when the folder of the instance has been cleared.
  void when_clear(const InstanceName& instance, std::function<void()> open);

  // `then` is called once: now, or when the opening under way has come to its end. Without a folder the instance has no
  // control interface.
  void ask(const InstanceName& instance, Then then);

 private:
  struct Entry {
    InstanceName instance;
    std::optional<std::string> folder{};
    std::vector<Then> waiting{};
  };

  // By number. Few are of one workload, and only the newest of those counts.
  std::map<agent::InterfaceNumber, Entry> entries_;
  std::map<InstanceName, agent::InterfaceNumber> numbers_;

  struct Clearing {
    int count = 0;
    std::vector<std::function<void()>> waiting{};
  };
  std::map<InstanceName, Clearing> clearings_;
};

}  // namespace tiphys::shell
