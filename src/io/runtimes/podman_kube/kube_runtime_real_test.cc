// The runtime with the real podman. Every test has an agent and a pod name of its own and takes away what carries them.
//
// Run by tools/podman-env, which finds out what podman needs here; the image is made by tools/podman-image and stays.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "io/host/process.h"
#include "io/runtimes/commands/test_world.h"
#include "io/runtimes/podman_kube/kube_runtime.h"

namespace tiphys::kube {
namespace {

using commands::TestLoop;
using shell::CreateResult;
using workload::ContainerId;
using Lines = std::vector<std::string>;

constexpr const char* kImage = "localhost/tiphys/busybox:1";
constexpr const char* kStays = "trap exit TERM; sleep 1000 & wait";  // until it is told to end

class LoopTimers : public shell::Timers {
 public:
  explicit LoopTimers(TestLoop& loop) : loop_(loop) {}
  void after(Duration duration, std::function<void()> task) override {
    auto timer = std::make_shared<boost::asio::steady_timer>(loop_.context, duration);
    timer->async_wait([timer, task = std::move(task)](const boost::system::error_code& error) {
      if (!error) task();
    });
  }

 private:
  TestLoop& loop_;
};

class RealKubeTest : public testing::Test {
 protected:
  RealKubeTest() {
    static int count = 0;
    const auto number = concat(std::to_string(::getpid()), "-", std::to_string(++count));
    agent_ = {concat("ktest-", number)};
    pod_ = concat("tiphys-kpod-", number);
    begin();
  }

  void TearDown() override {
    for (const auto& pod : {pod_, pod_ + "-b"})
      podman({"pod", "rm", "--force", "--time", "0", "--ignore", pod});
    const auto volumes = podman({"volume", "ls", "--format={{.Name}}"});
    for (const auto volume : split(trim(volumes), '\n'))
      if (volume.find(concat(".", agent_.value, ".")) != std::string_view::npos)
        podman({"volume", "rm", std::string(volume)});
  }

  // As when the agent begins.
  void begin() {
    states_.clear();
    runtime_.reset();
    engine_.reset();
    engine_.emplace(loop_.context.get_executor(), loop_, loop_);
    runtime_.emplace(*engine_, loop_, timers_, loop_);
  }

  // What a person types meanwhile.
  std::string podman(std::vector<std::string> arguments, const std::string& input = {}) {
    std::optional<std::string> output;
    host::ProcessSpec spec{.program = "podman", .arguments = std::move(arguments), .input = input};
    processes_.start(spec, [&](const Result<host::ProcessEnd>& end) {
      EXPECT_TRUE(end && end->exit_code == 0) << (end ? end->err : end.error().message);
      output = end ? end->out : "";
    });
    EXPECT_TRUE(loop_.await([&] { return output.has_value(); }));
    return output.value_or("");
  }

  template <class T, class Call>
  T answer_of(Call call) {
    std::optional<T> answer;
    call([&](T told) { answer = std::move(told); });
    EXPECT_TRUE(loop_.await([&] { return answer.has_value(); }));
    return *answer;
  }

  // A container for each line of the shell.
  [[nodiscard]] std::string pod(const std::string& name, const Lines& scripts,
                                const std::string& image = kImage) const {
    std::string manifest =
        concat("apiVersion: v1\nkind: Pod\nmetadata:\n  name: ", name,
               "\nspec:\n  restartPolicy: Never\n  terminationGracePeriodSeconds: 0\n"
               "  hostNetwork: true\n  containers:\n");
    for (std::size_t i = 0; i < scripts.size(); ++i)
      manifest +=
          concat("  - name: c", std::to_string(i), "\n    image: ", image,
                 "\n    imagePullPolicy: Never\n    command: [sh, -c, \"", scripts[i], "\"]\n");
    return manifest;
  }
  [[nodiscard]] WorkloadSpecPtr spec_of(const std::string& manifest) const {
    auto workload = std::make_shared<Workload>();
    workload->agent = agent_.value;
    workload->runtime = kKubeRuntime;
    workload->runtime_config = "manifest: |\n";
    for (const auto line : split(trim(manifest), '\n'))
      workload->runtime_config += concat("  ", line, "\n");
    workload->runtime_config += concat("controlInterfaceTarget: ", pod_, "/c0\n");
    return *WorkloadSpec::make("web", std::move(workload));
  }

  CreateResult<ContainerId> create(const std::string& manifest, shell::Equipment equipment = {}) {
    spec_ = spec_of(manifest);
    return answer_of<CreateResult<ContainerId>>(
        [&](auto sink) { runtime_->create(spec_, std::nullopt, std::move(equipment), sink); });
  }
  std::string error_of_remove() {
    const auto removed = answer_of<Status>([&](auto sink) {
      runtime_->remove(spec_->instance(), ContainerId{to_string(spec_->instance())}, sink);
    });
    return removed ? "" : removed.error().message;
  }
  void watch() {
    runtime_->watch(1, spec_->instance(), {to_string(spec_->instance())},
                    [this](const ExecutionState& state) { states_.push_back(to_string(state)); });
  }
  void create_and_watch(const Lines& scripts) {
    const auto id = create(pod(pod_, scripts));
    ASSERT_TRUE(id) << id.error().cause;
    watch();
  }
  bool await_state(const std::string& state) {
    return loop_.await([&] { return !states_.empty() && states_.back() == state; });
  }
  Lines found() {
    const auto workloads = answer_of<Result<std::vector<agent::FoundWorkload>>>(
        [&](auto sink) { runtime_->list(agent_, sink); });
    if (!workloads) return {workloads.error().message};
    Lines lines;
    for (const auto& each : *workloads) lines.push_back(to_string(each.state));
    return lines;
  }
  Lines pods() {
    const auto listed = podman({"pod", "ps", "--format={{.Name}}"});
    Lines own;
    for (const auto name : split(trim(listed), '\n'))
      if (name.starts_with(pod_)) own.emplace_back(name);
    return own;
  }

  static constexpr const char* kKilled = "Failed(ExecFailed): 'Exit code: '137''";
  TestLoop loop_;
  LoopTimers timers_{loop_};
  AgentName agent_;
  std::string pod_;
  WorkloadSpecPtr spec_;
  Lines states_;
  host::Processes processes_{loop_.context.get_executor()};
  std::optional<podman::PodmanEngine> engine_;
  std::optional<KubeRuntime> runtime_;
};

TEST_F(RealKubeTest, PlaysTellsAndTakesDown) {
  create_and_watch({kStays, kStays});
  EXPECT_TRUE(await_state("Running(Ok)"));
  EXPECT_EQ(pods(), (Lines{pod_}));
  EXPECT_EQ(found(), (Lines{"Running(Ok)"}));
  runtime_->unwatch(1);
  EXPECT_EQ(error_of_remove(), "");
  EXPECT_EQ(pods(), Lines{});
  EXPECT_EQ(found(), Lines{});
  EXPECT_EQ(error_of_remove(), "") << "what is gone counts as removed";
}

TEST_F(RealKubeTest, NoticesTheEndOfContainersByItself) {
  create_and_watch({kStays});
  ASSERT_TRUE(await_state("Running(Ok)"));
  ::kill(std::stoi(podman({"inspect", "--format", "{{.State.Pid}}", pod_ + "-c0"})), SIGKILL);
  EXPECT_TRUE(await_state(kKilled));
  // podman ends the infra container too, which changes nothing.
  EXPECT_EQ(states_, (Lines{"Running(Ok)", kKilled}));
}

TEST_F(RealKubeTest, SucceedsOnceAllContainersHave) {
  create_and_watch({"exit 0", "sleep 0.5"});
  EXPECT_TRUE(await_state("Succeeded(Ok)"));
}

TEST_F(RealKubeTest, APausedContainerIsAnUnknownOneAndCanBeTakenDown) {
  create_and_watch({kStays});
  ASSERT_TRUE(await_state("Running(Ok)"));
  podman({"pause", pod_ + "-c0"});
  begin();
  EXPECT_EQ(found(), (Lines{"Failed(Unknown): 'unknown container state'"}));
  EXPECT_EQ(error_of_remove(), "");
  EXPECT_EQ(pods(), Lines{});
}

TEST_F(RealKubeTest, APodThatIsRemovedBehindOurBackIsRemoved) {
  create_and_watch({kStays});
  ASSERT_TRUE(await_state("Running(Ok)"));
  podman({"pod", "rm", "--force", "--time", "0", pod_});
  EXPECT_TRUE(await_state("Removed"));
  EXPECT_EQ(error_of_remove(), "");
}

TEST_F(RealKubeTest, WhenOneOfTwoPodsIsGoneTheOtherIsTakenDown) {
  ASSERT_TRUE(create(concat(pod(pod_, {kStays}), "---\n", pod(pod_ + "-b", {kStays}))));
  podman({"pod", "rm", "--force", "--time", "0", pod_});
  watch();
  EXPECT_TRUE(await_state("Failed(Unknown): 'unknown container state'"));
  EXPECT_EQ(error_of_remove(), "");
  EXPECT_EQ(pods(), Lines{});
}

TEST_F(RealKubeTest, TheNextRunOfTheAgentFindsIt) {
  create_and_watch({kStays});
  ASSERT_TRUE(await_state("Running(Ok)"));
  begin();
  EXPECT_EQ(found(), (Lines{"Running(Ok)"}));
  watch();
  EXPECT_TRUE(await_state("Running(Ok)"));
  podman({"kill", pod_ + "-c0"});
  EXPECT_TRUE(await_state(kKilled));
  EXPECT_EQ(error_of_remove(), "");
  EXPECT_EQ(pods(), Lines{});
}

TEST_F(RealKubeTest, AFailedPlayLeavesNothingInTheWayOfTheNext) {
  const auto image = concat("localhost/tiphys/", pod_, ":1");
  const auto manifest = concat(pod(pod_, {kStays}), "---\n", pod(pod_ + "-b", {kStays}, image));
  for (int i = 0; i < 2; ++i) {
    const auto created = create(manifest);
    ASSERT_FALSE(created);
    EXPECT_NE(created.error().cause.find(image), std::string::npos) << created.error().cause;
    EXPECT_FALSE(created.error().left_something);
    EXPECT_EQ(pods(), Lines{});
    EXPECT_EQ(found(), Lines{});
  }
  podman({"tag", kImage, image});
  EXPECT_TRUE(create(manifest));
  EXPECT_EQ(pods().size(), 2U);
  EXPECT_EQ(error_of_remove(), "");
  podman({"untag", image, image});
}

TEST_F(RealKubeTest, APodOfTheSameNameIsLeftAlone) {
  podman({"kube", "play", "-"}, pod(pod_, {kStays}));
  const auto created = create(concat(pod(pod_ + "-b", {kStays}), "---\n", pod(pod_, {kStays})));
  ASSERT_FALSE(created);
  EXPECT_NE(created.error().cause.find("already exists"), std::string::npos);
  EXPECT_EQ(pods(), (Lines{pod_}));
}

TEST_F(RealKubeTest, TheTargetSeesTheControlInterface) {
  const commands::TestFolder folder;
  folder.write("here", "");
  const auto created =
      create(pod(pod_, {kStays}), {.control_interface = folder.path(), .files = {}});
  ASSERT_TRUE(created) << created.error().cause;
  EXPECT_EQ(podman({"exec", pod_ + "-c0", "ls", "/run/ankaios/control_interface"}), "here\n");
  EXPECT_EQ(error_of_remove(), "");
}

}  // namespace
}  // namespace tiphys::kube
