#include "sim/watcher.h"

#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "io/wire/wire.h"
#include "model/path.h"
#include "model/protocol_version.h"

namespace tiphys::sim {
namespace {

constexpr Duration kReconnectPause = seconds(1);
constexpr const char* kSubscription = "events";
constexpr const char* kRead = "read";

// Maps and lists without entries are the same as none: a message need not carry them.
Tree without_empties(const Tree& tree) {
  if (!tree.is_map()) return tree;
  Tree::Map kept;
  tree.entries().for_each([&](const std::string& key, const Tree& value) {
    const Tree child = without_empties(value);
    const bool is_empty =
        child.is_map() ? child.entries().empty() : child.list() != nullptr && child.list()->empty();
    if (!is_empty) kept = kept.set(key, child);
  });
  return kept;
}

// The first place where they differ.
std::string first_difference(const Tree& a, const Tree& b) {
  const auto changes = difference(a, b);
  return changes.empty() ? "nowhere" : to_string(changes.front().path);
}

}  // namespace

std::vector<std::vector<std::string>> masks_of_watchers() {
  return {
      {},
      {"workloadStates"},
      {"desiredState.workloads.*"},
      {"agents"},
      {"effectiveState", "workloadStates.*.*.*"},
      {"workloadStates.agent_1.workload_3", "desiredState.workloads.workload_3.tags"},
      {"desiredState.workloads.*.agent", "agents.*.status", "workloadStates.*.*.*.additionalInfo"}};
}

Watcher::Watcher(World& world, Network& network, std::string name, std::vector<std::string> masks)
    : world_(world), network_(network), name_(std::move(name)), masks_(std::move(masks)) {}

void Watcher::connect() {
  StreamEnd end;
  end.received = [this](const std::string& bytes) { received(bytes); };
  end.ended = [this] {
    connection_ = 0;
    phase_ = Phase::kAway;
    world_.after(kReconnectPause, [this] { connect(); });
  };
  connection_ = network_.connect(name_, std::move(end));
  if (connection_ == 0) return world_.after(kReconnectPause, [this] { connect(); });
  network_.send_to_server(connection_,
                          wire::encode(ToServer(CommanderHello{std::string(kProtocolVersion)})));
  subscribe();
  read();
}

void Watcher::subscribe() {
  phase_ = Phase::kSubscribing;
  const Request request{kSubscription, CompleteStateRequest{masks_, true}};
  network_.send_to_server(connection_, wire::encode(ToServer(request)));
}

// As long as this stream lasts.
void Watcher::read() {
  const ConnectionNumber connection = connection_;
  const Duration pause = world_.faults_on() ? world_.draw(seconds(1), seconds(60))
                                            : world_.draw(minutes(1), kLongestReadPause);
  world_.after(pause, [this, connection] {
    if (connection_ != connection) return;
    if (phase_ == Phase::kWatching && world_.faults_on() && world_.random().chance(1, 10)) {
      phase_ = Phase::kCancelling;
      world_.count("subscriptions cancelled");
      network_.send_to_server(
          connection_, wire::encode(ToServer(Request{kSubscription, EventsCancelRequest{}})));
    } else {
      const Request request{kRead, CompleteStateRequest{masks_, false}};
      network_.send_to_server(connection_, wire::encode(ToServer(request)));
    }
    read();
  });
}

void Watcher::received(const std::string& bytes) {
  const auto message = wire::decode_from_server(bytes);
  if (!message)
    return world_.fail(concat(name_, " could not read a message: ", message.error().message));
  if (const auto* response = std::get_if<Response>(&*message)) answered(*response);
}

void Watcher::answered(const Response& response) {
  match(
      response.content,
      [&](const CompleteStateResponse& answer) {
        if (answer.altered_fields) return take_over(answer);
        if (response.id == kRead) return compare(answer.complete_state);
        view_ = answer.complete_state;
        if (phase_ == Phase::kSubscribing) phase_ = Phase::kWatching;
      },
      [&](const EventsCancelAccepted&) {
        // The answer to a request that came twice comes when it has subscribed again.
        if (phase_ == Phase::kCancelling || phase_ == Phase::kSubscribing) subscribe();
      },
      [&](const ErrorResponse& error) {
        world_.fail(concat(name_, " was refused: ", error.message));
      },
      [&](const auto&) { world_.fail(concat(name_, " got the answer to something else")); });
}

void Watcher::take_over(const CompleteStateResponse& event) {
  if (phase_ == Phase::kSubscribing)
    return world_.fail(concat(name_, " got an event before its first answer"));
  world_.count("events");
  for (const auto& text : event.altered_fields->removed) {
    const Path path = parse_path(text);
    if (get(view_, path)) view_ = *remove(view_, path);
  }
  for (const auto* texts : {&event.altered_fields->updated, &event.altered_fields->added})
    for (const auto& text : *texts) {
      const Path path = parse_path(text);
      const auto value = get(event.complete_state, path);
      auto next =
          value ? set(view_, path, *value) : Result<Tree>(fail(Code::kNotFound, "no value"));
      if (!next)
        return world_.fail(concat(name_, " cannot take over ", text, ": ", next.error().message));
      view_ = *std::move(next);
    }
}

// Safety: who has taken over every event knows what it would read.
void Watcher::compare(const Tree& read) {
  if (phase_ != Phase::kWatching) return;
  world_.count("views compared");
  last_compared_ = world_.now();
  const Tree seen = without_empties(view_);
  const Tree fresh = without_empties(read);
  if (!(seen == fresh))
    world_.fail(concat("the events of ", name_, " missed a change of '",
                       first_difference(seen, fresh), "'"));
}

}  // namespace tiphys::sim
