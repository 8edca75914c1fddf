// The shell of the server on a real store: what it writes, and what it does when the store disagrees or fails. It stands
// here and not in shell/ because that folder sees no store.

#include "shell/server_shell.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"
#include "io/store/memory_store.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::store {
namespace {

using server::ConnectionNumber;

using Lines = std::vector<std::string>;

// A store in memory that somebody else can get hold of in between, and that can fail.
class UnreliableStore final : public shell::Records {
 public:
  explicit UnreliableStore(shell::Records& store) : store_(store) {}

  void get(std::string key, std::function<void(Result<shell::Record>)> sink) override {
    store_.get(std::move(key), std::move(sink));
  }
  void list(std::string prefix, std::function<void(Result<shell::Snapshot>)> sink) override {
    ++lists;
    if (failure)
      return store_.list(std::move(prefix),
                         [sink, error = *failure](auto&&) { sink(fail(error)); });
    store_.list(std::move(prefix), std::move(sink));
  }
  void commit(shell::Transaction transaction,
              std::function<void(Result<shell::Revision>)> sink) override {
    ++commits;
    if (before_commit) std::exchange(before_commit, nullptr)();
    if (failure) return store_.commit({}, [sink, error = *failure](auto&&) { sink(fail(error)); });
    store_.commit(std::move(transaction), std::move(sink));
  }

  std::optional<Error> failure;
  std::function<void()> before_commit;  // once
  int lists = 0;
  int commits = 0;

 private:
  shell::Records& store_;
};

class RecordingLink final : public shell::ServerLink {
 public:
  void send(ConnectionNumber connection, const FromServer& message) override {
    std::string text = "#" + std::to_string(connection) + " ";
    text += match(
        message, [](const Response& m) { return m.id + " " + summary_of(m); },
        [](const ServerHello& m) { return "hello with " + std::to_string(m.added.size()); },
        [](const UpdateWorkload& m) {
          return "add " + std::to_string(m.added.size()) + " delete " +
                 std::to_string(m.deleted.size());
        },
        [](const auto&) { return std::string("something else"); });
    sent.push_back(std::move(text));
  }
  void send_all(server::SendAll message) override {
    for (const auto connection : message.to) send(connection, message.message);
  }
  void publish(server::Publish news) override {
    for (const auto& [connection, request_id] : news.to)
      send(connection, Response{request_id, news.content});
  }
  void close(ConnectionNumber connection) override {
    sent.push_back("#" + std::to_string(connection) + " closed");
  }
  void answer(ConnectionNumber call, const DryRunResponse& response) override {
    sent.push_back("#" + std::to_string(call) + " " + summary(response));
  }
  void answer(ConnectionNumber call, const StateAgesResponse& response) override {
    sent.push_back("#" + std::to_string(call) + " " + summary(response));
  }

  Lines sent;

 private:
  static std::string summary_of(const Response& response) {
    return match(
        response.content, [](const ErrorResponse& r) { return r.message; },
        [](const UpdateStateSuccess& r) {
          return "added " + std::to_string(r.added_workloads.size()) + " deleted " +
                 std::to_string(r.deleted_workloads.size());
        },
        [](const auto&) { return std::string("something else"); });
  }
};

class RecordingLog final : public shell::Log {
 public:
  void write(shell::Level, std::string_view text, Fields) override { lines.emplace_back(text); }
  Lines lines;
};

Tree workload(const std::string& image) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "agent_A";
  workload->runtime = "podman";
  workload->runtime_config = "image: " + image;
  return std::shared_ptr<const Workload>(workload);
}

State state_with(const std::string& name) {
  State state;
  state.workloads = state.workloads.set(name, workload("nginx"));
  return state;
}

class ServerShellTest : public testing::Test {
 protected:
  static constexpr ConnectionNumber kAgent = 1;
  static constexpr ConnectionNumber kCommander = 2;

  // One life of the server.
  struct Life {
    explicit Life(ServerShellTest& test)
        : process(test.world),
          shell(process, process, process, test.world, test.log, test.unreliable, test.link,
                [&test](std::string text) { test.fatal.push_back(std::move(text)); }) {}

    sim::Process process;
    shell::ServerShell shell;
  };

  void SetUp() override { life.emplace(*this); }

  void run() {
    world.run_until(world.now(), [] {});
  }
  void start(std::optional<State> manifest = std::nullopt) {
    shell().start(std::move(manifest));
    run();
  }
  void restart(std::optional<State> manifest = std::nullopt) {
    life.emplace(*this);
    start(std::move(manifest));
  }
  shell::ServerShell& shell() { return life->shell; }

  void open_agent() {
    shell().opened({kAgent, server::AgentPeer{AgentName{"agent_A"}, {}}});
    run();
  }
  void open_commander() {
    shell().opened({kCommander, server::CommanderPeer{}});
    run();
  }
  // Asks for that workload, or for its end.
  void ask(const std::string& id, const std::string& name, std::optional<Tree> value) {
    Tree::Map workloads;
    if (value) workloads = workloads.set(name, *std::move(value));
    const Tree desired = Tree::Map().set("apiVersion", "v1").set("workloads", workloads);
    ASSERT_TRUE(shell().received(
        kCommander, Request{id, UpdateStateRequest{Tree(Tree::Map().set("desiredState", desired)),
                                                   {"desiredState.workloads." + name}}}));
    run();
  }

  // All keys of the wanted state that the store holds.
  Lines stored_keys() {
    Lines keys;
    memory.list(shell::kDesiredPrefix, [&](const Result<shell::Snapshot>& snapshot) {
      for (const auto& record : snapshot->records) keys.push_back(record.key);
    });
    run();
    return keys;
  }
  shell::Revision head_version() {
    shell::Revision version = 0;
    memory.get(shell::kDesiredHead,
               [&](const Result<shell::Record>& head) { version = head ? head->version : 0; });
    run();
    return version;
  }
  // Somebody else writes these keys and the head.
  void write_as_somebody_else(std::vector<shell::StoreWrite> writes) {
    writes.push_back({shell::kDesiredHead, Tree("somebody else")});
    memory.commit({.conditions = {}, .writes = std::move(writes), .fence = {}},
                  [](const Result<shell::Revision>& revision) { EXPECT_TRUE(revision); });
  }
  [[nodiscard]] Lines workloads() {
    Lines names;
    shell().state().desired.workloads.for_each(
        [&](const std::string& name, const Tree&) { names.push_back(name); });
    return names;
  }
  Lines sent() { return std::exchange(link.sent, {}); }

  sim::World world{1, false};
  sim::Process storage{world};  // outlives the server, as a store on a disk does
  MemoryStore memory{storage, storage, storage};
  UnreliableStore unreliable{memory};
  RecordingLink link;
  RecordingLog log;
  Lines fatal;
  std::optional<Life> life;
};

TEST_F(ServerShellTest, AnUpdateIsStoredAndThenToldToAgentAndRequester) {
  start();
  open_agent();
  open_commander();
  EXPECT_EQ(sent(), (Lines{"#1 hello with 0"}));
  ask("r1", "nginx", workload("nginx"));
  EXPECT_EQ(sent(), (Lines{"#1 add 1 delete 0", "#2 r1 added 1 deleted 0"}));
  EXPECT_EQ(stored_keys(), (Lines{"desired/head", "desired/workloads/nginx"}));
  const auto first = head_version();
  ask("r2", "nginx", std::nullopt);
  EXPECT_EQ(sent(), (Lines{"#1 add 0 delete 1", "#2 r2 added 0 deleted 1"}));
  EXPECT_EQ(stored_keys(), (Lines{"desired/head"}));
  EXPECT_GT(head_version(), first);
  EXPECT_EQ(fatal, Lines{});
}

TEST_F(ServerShellTest, TellsForHowLongAStateHasLasted) {
  start(state_with("web"));
  open_agent();
  sent();
  const InstanceName web{{"web"}, workload_id_of("image: nginx"), {"agent_A"}};
  const auto pass = [&](Duration time) { world.run_until(world.now() + time, [] {}); };
  pass(std::chrono::seconds(3));
  ASSERT_TRUE(
      shell().received(kAgent, UpdateWorkloadState{{{web, ExecutionState(Phase::kRunningOk)}}}));
  pass(std::chrono::milliseconds(4500));
  ASSERT_TRUE(shell().state_ages_asked(7, {{"web"}}));
  run();
  EXPECT_EQ(sent(), Lines{"#7 StateAges " + to_string(web) + ":4500ms"});
  // Whoever starts anew has not heard of it for longer than it lives.
  restart();
  pass(std::chrono::seconds(2));
  ASSERT_TRUE(shell().state_ages_asked(8, {}));
  run();
  EXPECT_EQ(sent(), Lines{"#8 StateAges " + to_string(web) + ":2000ms"});
}

TEST_F(ServerShellTest, NothingIsToldBeforeItIsStored) {
  start();
  open_agent();
  open_commander();
  sent();
  Lines told_before_the_commit;
  unreliable.before_commit = [&] { told_before_the_commit = link.sent; };
  ask("r1", "nginx", workload("nginx"));
  EXPECT_EQ(unreliable.commits, 1);
  EXPECT_EQ(told_before_the_commit, Lines{});
  EXPECT_EQ(sent().size(), 2U);
}

TEST_F(ServerShellTest, FindsItsStateAgainAfterARestart) {
  start();
  open_commander();
  ask("r1", "nginx", workload("nginx"));
  ask("r2", "redis", workload("redis"));
  restart();
  EXPECT_EQ(workloads(), (Lines{"nginx", "redis"}));
  sent();
  open_agent();
  EXPECT_EQ(sent(), (Lines{"#1 hello with 2"}));
  // And it goes on from the version that is stored.
  open_commander();
  ask("r3", "redis", std::nullopt);
  EXPECT_EQ(sent(), (Lines{"#1 add 0 delete 1", "#2 r3 added 0 deleted 1"}));
}

TEST_F(ServerShellTest, AManifestIsStoredOnlyIntoAnEmptyStore) {
  start(state_with("first"));
  EXPECT_EQ(workloads(), (Lines{"first"}));
  EXPECT_EQ(stored_keys(), (Lines{"desired/head", "desired/workloads/first"}));
  restart(state_with("second"));
  EXPECT_EQ(workloads(), (Lines{"first"}));
  EXPECT_EQ(stored_keys(), (Lines{"desired/head", "desired/workloads/first"}));
}

TEST_F(ServerShellTest, AConflictMakesItTakeOverWhatIsStoredAndDecideAgain) {
  start();
  open_agent();
  open_commander();
  sent();
  unreliable.before_commit = [&] {
    write_as_somebody_else({{"desired/workloads/theirs", workload("theirs")}});
  };
  ask("r1", "mine", workload("mine"));
  EXPECT_EQ(unreliable.commits, 2);
  EXPECT_EQ(unreliable.lists, 2);
  EXPECT_EQ(workloads(), (Lines{"mine", "theirs"}));
  EXPECT_EQ(stored_keys(),
            (Lines{"desired/head", "desired/workloads/mine", "desired/workloads/theirs"}));
  EXPECT_EQ(sent(), (Lines{"#1 add 1 delete 0", "#1 add 1 delete 0", "#2 r1 added 1 deleted 0"}));
}

TEST_F(ServerShellTest, AFailedCommitIsToldTheRequesterAndChangesNothing) {
  start();
  open_agent();
  open_commander();
  sent();
  unreliable.failure = Error{Code::kUnavailable, "the disk is full"};
  ask("r1", "nginx", workload("nginx"));
  EXPECT_EQ(sent(), (Lines{"#2 r1 Update rejected: 'The new state could not be stored: the disk "
                           "is full'"}));
  EXPECT_EQ(workloads(), Lines{});
  EXPECT_EQ(stored_keys(), Lines{});
  unreliable.failure.reset();
  ask("r2", "nginx", workload("nginx"));
  EXPECT_EQ(sent(), (Lines{"#1 add 1 delete 0", "#2 r2 added 1 deleted 0"}));
}

TEST_F(ServerShellTest, AStoreThatCannotBeReadIsFatalAndNothingHappensAfterThat) {
  unreliable.failure = Error{Code::kUnavailable, "no such disk"};
  start();
  EXPECT_EQ(fatal, (Lines{"The stored state could not be read: no such disk"}));
  unreliable.failure.reset();
  open_agent();
  open_commander();
  ask("r1", "nginx", workload("nginx"));
  start();
  EXPECT_EQ(sent(), Lines{});
  EXPECT_EQ(unreliable.lists, 1);
  EXPECT_EQ(unreliable.commits, 0);
  EXPECT_EQ(fatal.size(), 1U);
}

TEST_F(ServerShellTest, AFatalEndLeavesEarlierRequestsWithoutAnAnswer) {
  start();
  open_commander();
  // The conflict makes it load again, and that fails.
  unreliable.before_commit = [&] {
    write_as_somebody_else({{"desired/rubbish", Tree("of no known kind")}});
  };
  ask("r1", "nginx", workload("nginx"));
  ASSERT_EQ(fatal.size(), 1U);
  EXPECT_NE(fatal[0].find("'rubbish'"), std::string::npos) << fatal[0];
  ask("r2", "nginx", workload("nginx"));
  EXPECT_EQ(sent(), Lines{});
}

TEST_F(ServerShellTest, AStoredStateThatMakesNoSenseIsFatal) {
  write_as_somebody_else({{"desired/workloads/nginx", Tree("not a workload")}});
  start();
  ASSERT_EQ(fatal.size(), 1U);
  EXPECT_NE(fatal[0].find("nginx"), std::string::npos) << fatal[0];
}

TEST_F(ServerShellTest, AManifestThatCannotBeStoredIsFatal) {
  unreliable.before_commit = [&] { unreliable.failure = Error{Code::kUnavailable, "read only"}; };
  start(state_with("nginx"));
  EXPECT_EQ(fatal, (Lines{"The startup state could not be stored: read only"}));
}

TEST_F(ServerShellTest, PeersThatComeBeforeTheStateIsLoadedWait) {
  shell().opened({kAgent, server::AgentPeer{AgentName{"agent_A"}, {}}});
  run();
  EXPECT_EQ(sent(), Lines{});
  start(state_with("nginx"));
  EXPECT_EQ(sent(), (Lines{"#1 hello with 1"}));
}

TEST_F(ServerShellTest, ClosesAndForgetsPeers) {
  start();
  open_agent();
  sent();
  shell().opened({7, server::AgentPeer{AgentName{"agent_A"}, {}}});
  run();
  EXPECT_EQ(sent(), (Lines{"#1 closed", "#7 hello with 0"}));
  EXPECT_EQ(log.lines.size(), 1U);
  shell().closed(7);
  run();
  EXPECT_TRUE(shell().state().agents.empty());
}

TEST_F(ServerShellTest, StopsReadingWhenTooMuchWaits) {
  start();
  std::size_t accepted = 0;
  while (accepted < 100'000 && shell().received(kAgent, UpdateWorkloadState{})) ++accepted;
  EXPECT_EQ(accepted, 1024U);
  open_agent();  // that is no message and always gets through
  EXPECT_EQ(sent(), (Lines{"#1 hello with 0"}));
  EXPECT_TRUE(shell().received(kAgent, UpdateWorkloadState{}));
}

}  // namespace
}  // namespace tiphys::store
