// The engine with the real podman. Every test has an agent name of its own and takes away what carries it.
//
// Run by tools/podman-env, which finds out what podman needs here; the image is made by tools/podman-image and stays.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "base/match.h"
#include "io/host/process.h"
#include "io/runtimes/commands/test_world.h"
#include "io/runtimes/podman/podman_engine.h"

namespace tiphys::podman {
namespace {

using commands::TestFolder;
using commands::TestLoop;
using shell::ContainerId;
using shell::Owner;
using Lines = std::vector<std::string>;

constexpr const char* kImage = "localhost/tiphys/busybox:1";

class RealPodmanTest : public testing::Test {
 protected:
  RealPodmanTest() {
    static int count = 0;
    owner_ = {"ankaios",
              AgentName{concat("test-", std::to_string(::getpid()), "-", std::to_string(++count))}};
    engine_.watch(owner_, [this](const shell::EngineEvent& event) {
      match(
          event,
          [this](const shell::ContainerChanged& e) {
            events_.push_back(to_string(execution_state_of(e.status)));
          },
          [this](const shell::ChangesLost&) { events_.emplace_back("lost"); });
    });
  }

  void TearDown() override {
    const auto ids = podman({"ps", "--all", "--quiet", "--no-trunc", "--filter",
                             concat("label=agent=", owner_.agent.value)});
    for (const auto id : split(trim(ids), '\n'))
      if (!id.empty()) podman({"rm", "--force", "--time", "0", std::string(id)});
  }

  // What a person types meanwhile.
  std::string podman(std::vector<std::string> arguments) {
    std::optional<std::string> output;
    host::ProcessSpec spec{.program = "podman", .arguments = std::move(arguments)};
    processes_.start(std::move(spec), [&](const Result<host::ProcessEnd>& end) {
      EXPECT_TRUE(end && end->exit_code == 0) << (end ? end->err : end.error().message);
      output = end ? end->out : "";
    });
    EXPECT_TRUE(loop_.await([&] { return output.has_value(); }));
    return output.value_or("");
  }

  template <class T, class Call>
  Result<T> answer_of(Call call) {
    std::optional<Result<T>> answer;
    call([&](Result<T> told) { answer = std::move(told); });
    EXPECT_TRUE(loop_.await([&] { return answer.has_value(); }));
    return answer ? *answer : Result<T>(fail(Code::kInternal, "no answer"));
  }

  Result<ContainerId> create(std::vector<std::string> arguments,
                             const std::string& image = kImage) {
    return answer_of<ContainerId>([&](auto sink) {
      shell::ContainerSpec spec;
      spec.name = instance();
      spec.image = image;
      spec.create_options = {"--stop-timeout", "0"};
      spec.arguments = std::move(arguments);
      spec.labels = {{"name", instance()}};
      engine_.create(owner_, spec, true, sink);
    });
  }
  Status remove(const ContainerId& id) {
    return answer_of<void>([&](auto sink) { engine_.remove(id, sink); });
  }
  // The states of this test's containers.
  Lines listed() {
    const auto containers =
        answer_of<std::vector<shell::Container>>([&](auto sink) { engine_.list(owner_, sink); });
    if (!containers) return {containers.error().message};
    Lines lines;
    for (const auto& container : *containers)
      lines.push_back(to_string(execution_state_of(container.status)));
    return lines;
  }

  ContainerId running_container() {
    const auto id = create({"sleep", "1000"});
    EXPECT_TRUE(id) << id.error().message;
    EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
    events_.clear();
    return id.value_or(ContainerId{});
  }
  pid_t process_of(const ContainerId& id) {
    return std::stoi(podman({"inspect", "--format", "{{.State.Pid}}", id.value}));
  }
  bool await_event(const std::string& event) {
    return loop_.await([&] { return !events_.empty() && events_.back() == event; });
  }
  [[nodiscard]] std::string instance() const { return concat("web.aaa.", owner_.agent.value); }

  const std::string kKilled = "Failed(ExecFailed): 'Exit code: '137''";
  TestLoop loop_;
  Owner owner_;
  Lines events_;
  host::Processes processes_{loop_.context.get_executor()};
  PodmanEngine engine_{loop_.context.get_executor(), loop_, loop_};
};

TEST_F(RealPodmanTest, CreatesListsAndRemoves) {
  EXPECT_EQ(listed(), Lines{});
  const auto id = running_container();
  EXPECT_EQ(id.value.size(), 64U);
  EXPECT_EQ(podman({"inspect", "--format",
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
  podman({"kill", id.value});
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, NoticesPodmanStop) {
  const auto id = running_container();
  podman({"stop", "--time", "0", id.value});
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, NoticesPodmanRm) {
  const auto id = running_container();
  podman({"rm", "--force", "--time", "0", id.value});
  EXPECT_TRUE(await_event("Failed(Lost)"));
  EXPECT_EQ(listed(), Lines{});
}

TEST_F(RealPodmanTest, NoticesAContainerThatPodmanStartsAgain) {
  const auto id = running_container();
  podman({"restart", "--time", "0", id.value});
  EXPECT_TRUE(await_event("Running(Ok)"));
  EXPECT_EQ(events_, (Lines{kKilled, "Running(Ok)"}));
  ::kill(process_of(id), SIGKILL);
  EXPECT_TRUE(await_event(kKilled));
}

TEST_F(RealPodmanTest, StartsAgainWhatHasEnded) {
  const auto id = running_container();
  podman({"kill", id.value});
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
  const auto adopted = std::string(
      trim(podman({"run", "--detach", concat("--label=name=", instance()),
                   concat("--label=agent=", owner_.agent.value), kImage, "sleep", "1000"})));
  const auto foreign = std::string(
      trim(podman({"run", "--detach", concat("--label=agent=", owner_.agent.value, "-other"),
                   kImage, "sleep", "1000"})));
  EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
  podman({"rm", "--force", "--time", "0", foreign});
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
