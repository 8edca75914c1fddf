// The engine with the real nerdctl and a containerd of its own, which tools/containerd-env starts and takes away again with
// all that is left in it.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/runtimes/commands/test_real_engine.h"
#include "io/runtimes/nerdctl/nerdctl_engine.h"

namespace tiphys::nerdctl {
namespace {

using commands::kTestImage;
using commands::Lines;

class RealNerdctlTest : public commands::RealEngineTest<NerdctlEngine> {
 protected:
  RealNerdctlTest() : RealEngineTest("nerdctl", {"--network=none", "--stop-signal=KILL"}) {}
};

TEST_F(RealNerdctlTest, CreatesListsAndRemoves) {
  EXPECT_EQ(listed(), Lines{});
  const auto id = running_container();
  EXPECT_EQ(id.value.size(), 64U);
  EXPECT_EQ(typed({"inspect", "--format",
                   R"({{.Name}} {{index .Config.Labels "name"}} {{index .Config.Labels "agent"}})",
                   id.value}),
            concat(instance(), " ", instance(), " ", owner_.agent.value, "\n"));
  EXPECT_TRUE(remove(id));
  EXPECT_EQ(listed(), Lines{});
  EXPECT_TRUE(remove(id)) << "what is gone counts as removed";
}

TEST_F(RealNerdctlTest, NoticesTheEndOfAProcessByItself) {
  listed();
  for (const auto& [script, state] : std::vector<std::pair<std::string, std::string>>{
           {"sleep 0.2; exit 0", "Succeeded(Ok)"},
           {"sleep 0.2; exit 7", "Failed(ExecFailed): 'Exit code: '7''"},
           {"exit 3", "Failed(ExecFailed): 'Exit code: '3''"}}) {
    events_.clear();
    const auto id = create({"sh", "-c", script});
    ASSERT_TRUE(id) << id.error().message;
    // One that ended before anybody could look is in the listing.
    const bool was_late = listed() == Lines{state};
    EXPECT_TRUE(was_late || await_event(state)) << state;
    EXPECT_EQ(listed(), (Lines{state}));
    EXPECT_TRUE(remove(*id));
  }
  EXPECT_EQ(loop_.logged, Lines{});
}

TEST_F(RealNerdctlTest, NoticesWhatIsKilledBehindOurBack) {
  const auto id = running_container();
  ::kill(process_of(id), SIGKILL);
  EXPECT_TRUE(await_event(kKilled));
  EXPECT_EQ(listed(), (Lines{kKilled}));
}

TEST_F(RealNerdctlTest, NoticesKillStopAndRm) {
  const auto id = running_container();
  typed({"kill", id.value});
  EXPECT_TRUE(await_event(kKilled));
  EXPECT_TRUE(answer_of<void>([&](auto sink) { engine_.start(id, {}, sink); }));
  EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
  typed({"stop", "--time", "0", id.value});
  EXPECT_TRUE(await_event(kKilled));
  EXPECT_TRUE(answer_of<void>([&](auto sink) { engine_.start(id, {}, sink); }));
  EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
  typed({"rm", "--force", id.value});
  EXPECT_TRUE(await_event("Failed(Lost)"));
  EXPECT_EQ(listed(), Lines{});
}

TEST_F(RealNerdctlTest, TellsWhatTheContainerHasWritten) {
  const auto id = create({"sh", "-c", "echo one; echo two >&2; echo; sleep 1000"});
  ASSERT_TRUE(id) << id.error().message;
  Lines lines;
  bool has_ended = false;
  engine_.logs(*id, {.follow = true, .tail = {}, .since = {}, .until = {}},
               [&](shell::LogEvent event) {
                 match(
                     std::move(event),
                     [&](const shell::LogLines& e) {
                       lines.insert(lines.end(), e.lines.begin(), e.lines.end());
                     },
                     [&](const shell::LogEnd&) { has_ended = true; });
               });
  EXPECT_TRUE(loop_.await([&] { return lines.size() == 3; }));
  std::sort(lines.begin(), lines.end());  // of two pipes
  EXPECT_EQ(lines, (Lines{"", "one", "two"}));
  typed({"rm", "--force", id->value});
  EXPECT_TRUE(loop_.await([&] { return has_ended; }));
}

TEST_F(RealNerdctlTest, SignalsByNumber) {
  const auto id = running_container();
  EXPECT_TRUE(answer_of<void>([&](auto sink) { engine_.signal(id, SIGKILL, sink); }));
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealNerdctlTest, APausedContainerIsInAStateThatIsNoneOfOurs) {
  const auto id = running_container();
  typed({"pause", id.value});
  // Nothing ended: the next look is what tells it.
  EXPECT_TRUE(
      answer_of<void>([&](auto sink) { engine_.start({"no-such"}, {}, sink); }).error().code ==
      Code::kUnknown);
  EXPECT_EQ(listed(), (Lines{"Failed(Unknown): 'paused'"}));
  typed({"unpause", id.value});
}

TEST_F(RealNerdctlTest, AdoptsWhatAnotherAgentMadeAndLeavesTheRestAlone) {
  const auto adopted = std::string(
      trim(typed({"run", "--detach", "--network=none", concat("--label=name=", instance()),
                  concat("--label=agent=", owner_.agent.value), kTestImage, "sleep", "1000"})));
  // A label with commas in it looks like several in a listing.
  typed({"run", "--detach", "--network=none", concat("--label=other=x,agent=", owner_.agent.value),
         kTestImage, "sleep", "1000"});
  EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
  ::kill(process_of({adopted}), SIGKILL);
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealNerdctlTest, AMissingImageIsAnErrorThatNamesIt) {
  const auto id = create({}, "localhost/tiphys/no-such-image:1");
  ASSERT_FALSE(id);
  EXPECT_NE(id.error().message.find("localhost/tiphys/no-such-image:1"), std::string::npos);
  EXPECT_EQ(listed(), Lines{});
}

TEST_F(RealNerdctlTest, ACommandThatCannotBeRunLeavesAContainerThatTheListingShows) {
  const auto id = create({"/no/such/program"});
  ASSERT_FALSE(id);
  // Whoever creates a workload takes it away by its label.
  EXPECT_EQ(listed(), (Lines{"Pending(Starting): 'created'"}));
}

TEST_F(RealNerdctlTest, ANameInUseAndAnOddOneAreRefusedInItsOwnWords) {
  running_container();
  const auto second = create({"sleep", "1000"});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("is already used by ID"), std::string::npos);
  for (const std::string name : {"-odd", "_odd"}) {
    const auto odd = answer_of<shell::ContainerId>([&](auto sink) {
      shell::ContainerSpec spec;
      spec.name = name;
      spec.image = kTestImage;
      engine_.create(owner_, spec, true, sink);
    });
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().message.find(concat("identifier \\\"", name, "\\\" must match")),
              std::string::npos)
        << odd.error().message;
  }
}

}  // namespace
}  // namespace tiphys::nerdctl
