#include "shell/interface_folders.h"

#include <utility>

namespace tiphys::shell {

void InterfaceFolders::opening(agent::InterfaceNumber number, const InstanceName& instance) {
  entries_.emplace(number, Entry{instance});
  numbers_.insert_or_assign(instance, number);
}

void InterfaceFolders::opened(agent::InterfaceNumber number,
                              const std::optional<std::string>& folder) {
  const auto entry = entries_.find(number);
  if (entry == entries_.end()) return;  // closed meanwhile
  if (!folder) return closed(number);
  entry->second.folder = folder;
  for (const auto& then : std::exchange(entry->second.waiting, {})) then(folder);
}

void InterfaceFolders::closed(agent::InterfaceNumber number) {
  const auto node = entries_.extract(number);
  if (node.empty()) return;
  const auto newest = numbers_.find(node.mapped().instance);
  if (newest != numbers_.end() && newest->second == number) numbers_.erase(newest);
  for (const auto& then : node.mapped().waiting) then(std::nullopt);
}

void InterfaceFolders::ask(const InstanceName& instance, Then then) {
  const auto number = numbers_.find(instance);
  if (number == numbers_.end()) return then(std::nullopt);
  Entry& entry = entries_.at(number->second);
  if (entry.folder)
    then(entry.folder);
  else
    entry.waiting.push_back(std::move(then));
}

void InterfaceFolders::clearing(const InstanceName& instance) { ++clearings_[instance].count; }

void InterfaceFolders::cleared(const InstanceName& instance) {
  const auto entry = clearings_.find(instance);
  if (--entry->second.count > 0) return;
  const auto waiting = std::move(entry->second.waiting);
  clearings_.erase(entry);
  for (const auto& open : waiting) open();
}

void InterfaceFolders::when_clear(const InstanceName& instance, std::function<void()> open) {
  const auto entry = clearings_.find(instance);
  if (entry == clearings_.end())
    open();
  else
    entry->second.waiting.push_back(std::move(open));
}

}  // namespace tiphys::shell
