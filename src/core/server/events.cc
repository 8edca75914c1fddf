#include "core/server/events.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "core/server/log_campaigns.h"
#include "model/path.h"

namespace tiphys::server {
namespace {

constexpr std::string_view kEffective = "effectiveState";

std::size_t bytes_of(const std::vector<std::string>& masks) {
  std::size_t bytes = 0;
  for (const auto& mask : masks) bytes += sizeof(std::string) + mask.size();
  return bytes;
}

bool lies_below(const Path& path, const Path& above) {
  return path.segments.size() >= above.segments.size() &&
         std::equal(above.segments.begin(), above.segments.end(), path.segments.begin());
}

// What a state cannot be read without: the version beside a part of a wanted state, and the other half of an execution
// state, which is one field on the wire.
void add_companions(const Path& path, std::vector<Path>& paths) {
  const auto& segments = path.segments;
  if (segments[0] == "desiredState" || segments[0] == kEffective)
    paths.push_back(Path{{segments[0], "apiVersion"}});
  if (segments.size() == 5 && segments[0] == "workloadStates" &&
      (segments[4] == "state" || segments[4] == "subState")) {
    Path other = path;
    other.segments[4] = segments[4] == "state" ? "subState" : "state";
    paths.push_back(std::move(other));
  }
}

// The state at these very paths, as far as they exist. They name keys as they are, whatever characters a key has: nothing
// in them is a wildcard.
Tree state_at(const Tree& state, const AlteredPaths& altered) {
  std::vector<Path> paths;
  for (const auto* list : {&altered.added, &altered.updated, &altered.removed})
    for (const auto& path : *list) {
      paths.push_back(path);
      add_companions(path, paths);
    }
  std::sort(paths.begin(), paths.end());
  Tree selected{Tree::Map()};
  const Path* above = nullptr;
  for (const auto& path : paths) {
    if (above != nullptr && lies_below(path, *above)) continue;
    const auto value = get(state, path);
    if (!value) continue;
    auto next = set(selected, path, *value);
    TIPHYS_CHECK(next.has_value(), "a path into a state fits a part of that state");
    selected = *std::move(next);
    above = &path;
  }
  return selected;
}

std::vector<std::string> texts(const std::vector<Path>& paths) {
  std::vector<std::string> all;
  all.reserve(paths.size());
  for (const auto& path : paths) all.push_back(to_string(path));
  return all;
}

// The version in the effective state only mirrors the wanted one: peers tell of it when workloads changed with it.
Tree compared(const CompleteState& state, bool with_effective_state) {
  const Tree tree = state.to_tree();
  return with_effective_state ? tree : Tree(tree.entries().erase(kEffective));
}

}  // namespace

Subscriber subscriber(ConnectionNumber commander, const std::string& request_id) {
  return {{{}, {}, commander}, request_id};
}

std::optional<Subscriber> subscriber(const AgentName& agent, const std::string& request_id) {
  const auto workload = workload_of_request_id(request_id);
  if (!workload) return std::nullopt;
  return Subscriber{{agent, *workload, 0}, request_id};
}

Status Subscriptions::check_room(const Subscriber& subscriber,
                                 const std::vector<std::string>& masks) const {
  const auto entry = usage_.find(subscriber.peer);
  Usage usage = entry == usage_.end() ? Usage{} : entry->second;
  if (const auto former = subscriptions_.find(subscriber); former != subscriptions_.end()) {
    --usage.subscriptions;
    usage.bytes -= bytes_of(former->second->first);
  }
  if (usage.subscriptions >= kMaxSubscriptions)
    return fail(Code::kResourceExhausted,
                concat("Too many subscriptions for events: one client may have ",
                       std::to_string(kMaxSubscriptions), ", cancel some first"));
  if (usage.bytes + bytes_of(masks) > kMaxMaskBytes)
    return fail(Code::kResourceExhausted,
                concat("Too long field masks of subscriptions for events: those of one client may "
                       "take ",
                       std::to_string(kMaxMaskBytes), " bytes; use wildcards, or cancel some"));
  return {};
}

// [impl->swdd~provides-functionality-to-handle-event-subscriptions~1]
void Subscriptions::subscribe(const Subscriber& subscriber, std::vector<std::string> masks) {
  cancel(subscriber);
  std::sort(masks.begin(), masks.end());
  Usage& usage = usage_[subscriber.peer];
  ++usage.subscriptions;
  usage.bytes += bytes_of(masks);
  auto group = groups_.find(masks);
  if (group == groups_.end()) {
    Masks parsed(masks);
    group = groups_.emplace(std::move(masks), Group{std::move(parsed), {}}).first;
  }
  group->second.members.insert(subscriber);
  subscriptions_.emplace(subscriber, group);
}

void Subscriptions::cancel(const Subscriber& subscriber) {
  const auto entry = subscriptions_.find(subscriber);
  if (entry != subscriptions_.end()) end(entry);
}

Subscriptions::Entry Subscriptions::end(Entry entry) {
  const auto& [subscriber, group] = *entry;
  const auto usage = usage_.find(subscriber.peer);
  usage->second.bytes -= bytes_of(group->first);
  if (--usage->second.subscriptions == 0) usage_.erase(usage);
  group->second.members.erase(subscriber);
  if (group->second.members.empty()) groups_.erase(group);
  return subscriptions_.erase(entry);
}

template <class IsMeant>
void Subscriptions::drop_from(const Subscriber::Peer& first, const IsMeant& is_meant) {
  auto entry = subscriptions_.lower_bound(Subscriber{first, {}});
  while (entry != subscriptions_.end() && is_meant(entry->first.peer)) entry = end(entry);
}

void Subscriptions::drop_connection(ConnectionNumber commander) {
  const Subscriber::Peer peer{{}, {}, commander};
  drop_from(peer, [&](const Subscriber::Peer& other) { return other == peer; });
}

void Subscriptions::drop_agent(const AgentName& agent) {
  drop_from({agent, {}, 0}, [&](const Subscriber::Peer& peer) { return peer.agent == agent; });
}

void Subscriptions::drop_workload(const AgentName& agent, const WorkloadName& workload) {
  const Subscriber::Peer peer{agent, workload, 0};
  drop_from(peer, [&](const Subscriber::Peer& other) { return other == peer; });
}

// [impl->swdd~event-handler-sends-complete-state-differences-including-altered-fields~1]
std::vector<News> Subscriptions::news(const CompleteState& before,
                                      const CompleteState& after) const {
  std::vector<News> all;
  if (empty()) return all;
  const bool with_effective_state = !before.effective_workloads.same_as(after.effective_workloads);
  const Tree now = after.to_tree();
  const Alterations alterations(compared(before, with_effective_state),
                                compared(after, with_effective_state));
  if (alterations.empty()) return all;
  for (const auto& [texts_of_masks, group] : groups_) {
    const AlteredPaths altered = alterations.matching(group.masks);
    if (altered.empty()) continue;
    all.push_back(
        {{group.members.begin(), group.members.end()},
         {state_at(now, altered),
          AlteredFields{texts(altered.added), texts(altered.updated), texts(altered.removed)}}});
  }
  return all;
}

}  // namespace tiphys::server
