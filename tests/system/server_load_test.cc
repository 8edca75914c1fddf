// The whole server under load: many subscribers, agents that report, and somebody who changes the state all the time. No
// event is lost, and what the visitors cost goes with them.
//
// The server and its visitors share one process and real sockets: so its bytes in use can be asked before they come and
// after they have left. TIPHYS_LOAD_SECONDS says for how long; a few seconds by default.

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "bench/server/crowd.h"
#include "io/host/io_loop.h"
#include "io/link/link_server.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/server.h"
#include "io/store/forgetful_store.h"
#include "io/wire/wire.h"
#include "model/path.h"
#include "shell/server_shell.h"
#include "shell/strand.h"
#include "tests/bytes_in_use.h"

namespace tiphys {
namespace {

using bench::Crowd;
using bench::CrowdPeer;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSubscribers = 200;
constexpr std::size_t kAgents = 50;
constexpr std::size_t kWorkloadsEach = 5;
constexpr std::size_t kLeastUpdates = 10;  // each kind twice, however slow the machine is
constexpr auto kPatience = std::chrono::seconds(60);

std::chrono::seconds load_time() {
  const char* const text = std::getenv("TIPHYS_LOAD_SECONDS");
  int seconds = 2;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), seconds);
  return std::chrono::seconds(seconds);
}

std::string agent_of(std::size_t number) { return concat("agent_", std::to_string(number)); }

// --- the server ---

class QuietLog final : public shell::Log {
 public:
  void write(shell::Level, std::string_view, Fields) override {}
};
class NoTrace final : public shell::Trace {
 public:
  [[nodiscard]] bool enabled() const override { return false; }
  void event(std::string_view, const std::string&) override {}
  void effect(std::string_view, const std::string&) override {}
};

// Wired as ank-server is; io has a thread of its own too.
class Server {
 public:
  explicit Server(State state) {
    // Without keepalive: all visitors share one busy thread, which answers no ping in time.
    auto listener = rpc::http2::listen(io_.executor(), log_, {.address = "127.0.0.1:0"});
    if (!listener) throw std::runtime_error(listener.error().message);
    const std::string address = (*listener)->address();
    const std::string_view port = std::string_view(address).substr(address.rfind(':') + 1);
    std::from_chars(port.data(), port.data() + port.size(), port_);
    core_.post([this, state = std::move(state)] { shell_.start(state); });
    rpc_.listen(std::move(*listener), link_.listen_options());
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Server() {
    io_.post([this] { rpc_.close(Duration::zero(), [this] { io_.stop(); }); });
    thread_.join();
    core_.stop();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  QuietLog log_;
  NoTrace trace_;
  host::IoLoop io_;
  shell::CoreThread core_;
  store::ForgetfulStore store_{core_};
  link::LinkServer link_{
      io_.executor(),
      core_,
      log_,
      {.opened = [this](server::Opened event) { shell_.opened(std::move(event)); },
       .closed = [this](server::ConnectionNumber connection) { shell_.closed(connection); },
       .received =
           [this](server::ConnectionNumber connection, ToServer&& message) {
             return shell_.received(connection, std::move(message));
           }}};
  rpc::Server rpc_{io_.executor(), log_};
  shell::ServerShell shell_{
      core_, core_,  core_, trace_,
      log_,  store_, link_, [](const std::string& why) {
                              ADD_FAILURE() << why; }};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

Tree workload(const std::string& agent, const std::string& config) {
  return Tree::Map()
      .set("agent", agent)
      .set("runtime", "podman")
      .set("runtimeConfig", config)
      .set("tags", Tree::Map().set("revision", "0"));
}

State initial_state() {
  Tree::Map workloads;
  for (std::size_t agent = 0; agent < kAgents; ++agent)
    for (std::size_t i = 0; i < kWorkloadsEach; ++i)
      workloads = workloads.set(concat("w_", std::to_string(agent), "_", std::to_string(i)),
                                workload(agent_of(agent), "image: some"));
  const Tree tree = Tree::Map().set("apiVersion", "v1").set("workloads", workloads);
  return read_state(tree, Path{}).value();
}

// --- the visitors ---

// What the messages of the server begin with: the member of FromServer.
bool is_update_workload(std::string_view bytes) { return bytes.starts_with("\x0a"); }
bool is_server_hello(std::string_view bytes) { return bytes.starts_with("\x22"); }

// Says of whatever it is told to run that it runs, and of what it is told to delete that it is gone.
class Agent {
 public:
  Agent(Crowd& crowd, std::string name) : name_(std::move(name)), peer_(crowd.agent(name_)) {
    peer_.on_message = [this](std::string_view bytes) { told(bytes); };
  }

 private:
  void told(std::string_view bytes) {
    if (!is_update_workload(bytes) && !is_server_hello(bytes)) return;
    const auto message = wire::decode_from_server(bytes);
    ASSERT_TRUE(message) << message.error().message;
    UpdateWorkloadState states;
    if (const auto* update = std::get_if<UpdateWorkload>(&*message)) {
      for (const auto& deleted : update->deleted)
        states.states.push_back({deleted.instance, ExecutionState(Phase::kRemoved)});
      report(update->added, states);
    } else {
      report(std::get<ServerHello>(*message).added, states);
    }
    if (!states.states.empty()) peer_.send(std::move(states));
    if (++turn_ % 4 == 0) peer_.send(AgentLoadStatus{name_, {turn_ % 100, 1'000'000U + turn_}});
  }
  static void report(const std::vector<WorkloadSpecPtr>& added, UpdateWorkloadState& states) {
    for (const auto& spec : added)
      states.states.push_back({spec->instance(), ExecutionState(Phase::kRunningOk)});
  }

  const std::string name_;
  CrowdPeer& peer_;
  std::uint32_t turn_ = 0;
};

// Without what an answer only carries along, and without maps that became empty: paths say nothing of those.
Tree essence(const Tree& tree) {
  if (!tree.is_map()) return tree;
  std::vector<std::pair<std::string, Tree>> kept;
  tree.entries().for_each([&](const std::string& key, const Tree& value) {
    if (key == "apiVersion") return;
    Tree below = essence(value);
    if (!below.is_map() || !below.entries().empty()) kept.emplace_back(key, std::move(below));
  });
  return Tree::Map::of_sorted(std::move(kept));
}

// Keeps up with the state by its first answer and its events.
class Subscriber {
 public:
  Subscriber(Crowd& crowd, std::vector<std::string> masks)
      : masks_(std::move(masks)), peer_(crowd.commander()) {
    peer_.on_message = [this](std::string_view bytes) { told(bytes); };
    peer_.send(Request{"view", CompleteStateRequest{masks_, true}});
  }

  [[nodiscard]] bool has_view() const { return view_.has_value(); }
  [[nodiscard]] const Tree& view() const { return *view_; }
  [[nodiscard]] std::size_t events() const { return events_; }

 private:
  void told(std::string_view bytes) {
    const auto message = wire::decode_from_server(bytes);
    ASSERT_TRUE(message) << message.error().message;
    const auto* response = std::get_if<Response>(&*message);
    ASSERT_NE(response, nullptr);
    const auto* answer = std::get_if<CompleteStateResponse>(&response->content);
    ASSERT_NE(answer, nullptr) << "the server refuses: " << summary(*message);
    if (!view_) {
      ASSERT_FALSE(answer->altered_fields) << "an event came before the first answer";
      view_ = answer->complete_state;
      return;
    }
    ++events_;
    ASSERT_TRUE(answer->altered_fields) << "a second first answer";
    const AlteredFields& altered = *answer->altered_fields;
    for (const auto& path : altered.removed)
      if (auto without = remove(*view_, parse_path(path))) view_ = *std::move(without);
    for (const auto* paths : {&altered.added, &altered.updated})
      for (const auto& path : *paths) take(parse_path(path), answer->complete_state);
  }

  void take(const Path& path, const Tree& state) {
    // What has gone again by the time of the event follows as removed.
    const auto value = get(state, path);
    if (!value) return;
    auto changed = set(*view_, path, *value);
    ASSERT_TRUE(changed) << to_string(path) << ": " << changed.error().message;
    view_ = *std::move(changed);
  }

  const std::vector<std::string> masks_;
  CrowdPeer& peer_;
  std::optional<Tree> view_;
  std::size_t events_ = 0;
};

const std::vector<std::vector<std::string>> kMasks{
    {},
    {"desiredState.workloads"},
    {"workloadStates"},
    {"desiredState.workloads.*.tags", "agents"},
    {"desiredState.configs", "effectiveState.workloads.*.runtimeConfig"},
};

// Changes the state, one accepted update after the other; at the end it is as it was.
class Changer {
 public:
  explicit Changer(Crowd& crowd) : crowd_(crowd), peer_(crowd.commander()) {}

  void change() {
    const std::string number = std::to_string(turn_ % 10);
    const std::string agent = agent_of(turn_ % kAgents);
    const std::string extra = concat("desiredState.workloads.extra_", number);
    switch (turn_++ % 5) {
      case 0:
        return set_tag(std::to_string(turn_));
      case 1:
        return put(extra, workload(agent, "image: first"));
      case 2:
        return put("desiredState.configs.item",
                   Tree::Map().set("value", std::to_string(turn_)).set("more", "text"));
      case 3:
        return put(concat("desiredState.workloads.extra_", std::to_string((turn_ + 7) % 10)),
                   workload(agent, concat("image: changed_", std::to_string(turn_))));
      default:
        return put(extra, std::nullopt);
    }
  }

  void undo() {
    for (int i = 0; i < 10; ++i)
      put(concat("desiredState.workloads.extra_", std::to_string(i)), std::nullopt);
    put("desiredState.configs.item", std::nullopt);
    set_tag("0");
  }

  Result<Tree> read(const std::vector<std::string>& masks) {
    TIPHYS_TRY(auto response, crowd_.ask(peer_, {"read", CompleteStateRequest{masks, false}}));
    return std::get<CompleteStateResponse>(response.content).complete_state;
  }
  [[nodiscard]] std::size_t updates() const { return updates_; }

 private:
  void set_tag(const std::string& value) {
    put("desiredState.workloads.w_3_4.tags.revision", Tree(value));
  }

  void put(const std::string& mask, std::optional<Tree> value) {
    Tree state = Tree::Map().set("desiredState", Tree::Map().set("apiVersion", "v1"));
    if (value) state = set(state, parse_path(mask), *std::move(value)).value();
    const auto answer = crowd_.ask(peer_, {"update", UpdateStateRequest{state, {mask}}});
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_TRUE(std::holds_alternative<UpdateStateSuccess>(answer->content))
        << std::get<ErrorResponse>(answer->content).message;
    ++updates_;
  }

  Crowd& crowd_;
  CrowdPeer& peer_;
  std::size_t turn_ = 0;
  std::size_t updates_ = 0;
};

// Everybody comes, the state changes for so long, every view becomes right, everybody leaves.
void visit(std::uint16_t port, std::chrono::seconds time) {
  Crowd crowd(port);
  std::vector<std::unique_ptr<Agent>> agents;
  agents.reserve(kAgents);
  for (std::size_t i = 0; i < kAgents; ++i)
    agents.push_back(std::make_unique<Agent>(crowd, agent_of(i)));
  const Status agents_are_there = crowd.connected();
  ASSERT_TRUE(agents_are_there) << agents_are_there.error().message;
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  subscribers.reserve(kSubscribers);
  for (std::size_t i = 0; i < kSubscribers; ++i)
    subscribers.push_back(std::make_unique<Subscriber>(crowd, kMasks[i % kMasks.size()]));
  Changer changer(crowd);
  const Status all_are_there = crowd.run_until([&] {
    return std::ranges::all_of(subscribers, [](const auto& each) { return each->has_view(); });
  });
  ASSERT_TRUE(all_are_there) << all_are_there.error().message;

  for (const auto end = Clock::now() + time;
       Clock::now() < end || changer.updates() < kLeastUpdates;)
    ASSERT_NO_FATAL_FAILURE(changer.change());
  ASSERT_NO_FATAL_FAILURE(changer.undo());

  // What agents say of the last changes may still be on its way.
  for (std::size_t mask = 0; mask < kMasks.size(); ++mask) {
    std::vector<Change> last;
    for (const auto end = Clock::now() + kPatience; Clock::now() < end;) {
      const auto read = changer.read(kMasks[mask]);
      ASSERT_TRUE(read) << read.error().message;
      const Tree expected = essence(*read);
      last.clear();
      for (std::size_t i = mask; i < kSubscribers && last.empty(); i += kMasks.size())
        last = difference(expected, essence(subscribers[i]->view()));
      if (last.empty()) break;
    }
    EXPECT_TRUE(last.empty()) << "the view below " << join(kMasks[mask], ", ")
                              << " is wrong, first at " << to_string(last.front().path);
  }

  std::size_t events = 0;
  for (const auto& subscriber : subscribers) {
    EXPECT_GT(subscriber->events(), 0U);
    events += subscriber->events();
  }
  std::printf("%zu updates, %zu events\n", changer.updates(), events);
}

TEST(ServerUnderLoad, LosesNoEventAndGivesBackItsMemory) {
  Server server(initial_state());
  // The first visit leaves what any visit leaves: states of agents that are away, buffers that are kept. It lasts long
  // enough for every kind of change on a slow machine, too.
  ASSERT_NO_FATAL_FAILURE(visit(server.port(), std::chrono::seconds(2)));
  const auto settled = [&] {
    // All have left once the last agent has: calls end in the order in which they are noticed.
    Crowd crowd(server.port());
    CrowdPeer& commander = crowd.commander();
    for (const auto end = Clock::now() + kPatience; Clock::now() < end;) {
      const auto answer = crowd.ask(commander, {"read", CompleteStateRequest{{"agents"}, false}});
      if (!answer) return;
      const auto& state = std::get<CompleteStateResponse>(answer->content).complete_state;
      if (const auto agents = state.child("agents"); !agents || agents->entries().empty()) return;
    }
  };
  settled();
  const std::size_t before = bytes_in_use();
  ASSERT_NO_FATAL_FAILURE(visit(server.port(), load_time()));
  settled();
  std::size_t after = bytes_in_use();
  for (const auto end = Clock::now() + kPatience; after > before * 21 / 20 && Clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    after = bytes_in_use();
  }
  std::printf("bytes in use: %zu before, %zu after they left\n", before, after);
  EXPECT_LE(after, before * 21 / 20);
}

}  // namespace
}  // namespace tiphys
