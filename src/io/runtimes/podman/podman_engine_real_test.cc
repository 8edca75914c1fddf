// The engine with the real podman. Every test has an agent name of its own and takes away what carries it.
//
// Run by tools/podman-env, which finds out what podman needs here; the image is made by tools/podman-image and stays.

#include <gtest/gtest.h>
#include <signal.h>

#include "base/strings.h"
#include "io/runtimes/commands/test_real_engine.h"
#include "io/runtimes/podman/podman_engine.h"

namespace tiphys::podman {
namespace {

using commands::Lines;

class RealPodmanTest : public commands::RealEngineTest<PodmanEngine> {
 protected:
  RealPodmanTest() : RealEngineTest("podman", {"--stop-timeout", "0"}) {}

  void TearDown() override {
    const auto ids = typed({"ps", "--all", "--quiet", "--no-trunc", "--filter",
                            concat("label=agent=", owner_.agent.value)});
    for (const auto id : split(trim(ids), '\n'))
      if (!id.empty()) typed({"rm", "--force", "--time", "0", std::string(id)});
  }
};

TEST_F(RealPodmanTest, CreatesListsAndRemoves) {
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

TEST_F(RealPodmanTest, NoticesTheEndOfAProcessByItself) {
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
}

TEST_F(RealPodmanTest, NoticesWhatIsKilledBehindOurBack) {
  const auto id = running_container();
  ::kill(process_of(id), SIGKILL);
  EXPECT_TRUE(await_event(kKilled));
  EXPECT_EQ(listed(), (Lines{kKilled}));
}

TEST_F(RealPodmanTest, NoticesPodmanKill) {
  const auto id = running_container();
  typed({"kill", id.value});
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, NoticesPodmanStop) {
  const auto id = running_container();
  typed({"stop", "--time", "0", id.value});
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, NoticesPodmanRm) {
  const auto id = running_container();
  typed({"rm", "--force", "--time", "0", id.value});
  EXPECT_TRUE(await_event("Failed(Lost)"));
  EXPECT_EQ(listed(), Lines{});
}

TEST_F(RealPodmanTest, NoticesAContainerThatPodmanStartsAgain) {
  const auto id = running_container();
  typed({"restart", "--time", "0", id.value});
  EXPECT_TRUE(await_event("Running(Ok)"));
  EXPECT_EQ(events_, (Lines{kKilled, "Running(Ok)"}));
  ::kill(process_of(id), SIGKILL);
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, StartsAgainWhatHasEnded) {
  const auto id = running_container();
  typed({"kill", id.value});
  ASSERT_TRUE(await_event(kKilled));
  const auto first = process_of(id);
  EXPECT_TRUE(answer_of<void>([&](auto sink) { engine_.start(id, {}, sink); }));
  EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
  events_.clear();
  EXPECT_NE(process_of(id), first);
  ::kill(process_of(id), SIGKILL);
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, AdoptsWhatAnotherAgentMadeAndLeavesTheRestAlone) {
  const auto adopted = std::string(trim(typed(
      {"run", "--detach", concat("--label=name=", instance()),
       concat("--label=agent=", owner_.agent.value), commands::kTestImage, "sleep", "1000"})));
  const auto foreign = std::string(
      trim(typed({"run", "--detach", concat("--label=agent=", owner_.agent.value, "-other"),
                  commands::kTestImage, "sleep", "1000"})));
  EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
  typed({"rm", "--force", "--time", "0", foreign});
  ::kill(process_of({adopted}), SIGKILL);
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, AMissingImageIsAnErrorThatNamesIt) {
  const auto id = create({}, "localhost/tiphys/no-such-image:1");
  ASSERT_FALSE(id);
  EXPECT_NE(id.error().message.find("localhost/tiphys/no-such-image:1"), std::string::npos);
  EXPECT_EQ(listed(), Lines{});
}

TEST_F(RealPodmanTest, ACommandThatCannotBeRunLeavesAContainerThatTheListingShows) {
  const auto id = create({"/no/such/program"});
  ASSERT_FALSE(id);
  // Whoever creates a workload takes it away by its label.
  EXPECT_EQ(listed().size(), 1U);
}

}  // namespace
}  // namespace tiphys::podman
