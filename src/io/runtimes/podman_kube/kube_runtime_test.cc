#include "io/runtimes/podman_kube/kube_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "io/runtimes/commands/test_world.h"

namespace tiphys::kube {
namespace {

using commands::TestFolder;
using commands::TestLoop;
using shell::CreateResult;
using shell::Equipment;
using workload::ContainerId;
using Lines = std::vector<std::string>;

// A podman that notes how it was called, keeps volumes as files, and does with manifests and pods what the test wrote.
constexpr const char* kStandIn = R"SH(#!/bin/sh
folder=$(dirname "$0")
printf '%s\n' "$*" >> "$folder/calls"
volume="$folder/volume-$3"
missing() { echo "Error: no volume with name $3 found: no such volume" >&2; exit 125; }
case " $* " in
*" kube play "*) cat > "$folder/played"; . "$folder/on-play";;
*" kube down "*) cat > "$folder/downed"; . "$folder/on-down";;
" volume create "*) [ ! -e "$folder/full" ] || { echo "Error: no room" >&2; exit 125; }
  printf '%s' "${3#--label=data=}" > "$folder/volume-$4";;
" volume rm "*) [ -e "$volume" ] || missing "$@"
  [ ! -e "$folder/busy" ] || { echo "Error: in use" >&2; exit 2; }
  rm "$volume";;
" volume inspect "*) [ -e "$volume" ] || missing "$@"
  printf '[{"Name":"%s","Labels":{"data":"%s"}}]\n' "$3" "$(cat "$volume")";;
" volume ls "*) [ ! -e "$folder/no-ls" ] || { echo "Error: no ls" >&2; exit 125; }
  ls "$folder" | sed -n 's/^volume-\(.*\.config\)$/\1/p';;
" pod ps "*) . "$folder/on-pod-ps";;
" pod rm "*) . "$folder/on-pod-rm";;
" ps "*) . "$folder/on-ps";;
*) echo "unknown: $*" >&2; exit 125;;
esac
)SH";

// Runs what is due when a test says so.
class TestTimers : public shell::Timers {
 public:
  void after(Duration duration, std::function<void()> task) override {
    pauses.push_back(duration);
    tasks.push_back(std::move(task));
  }
  void fire() {
    for (const auto& task : std::exchange(tasks, {})) task();
  }

  std::vector<Duration> pauses;
  std::vector<std::function<void()>> tasks;
};

constexpr const char* kManifest = R"(kind: Pod
metadata:
  name: kp
spec:
  containers:
  - name: c1
    image: i
)";

std::string config_with(std::string_view more = "") {
  std::string config = "manifest: |\n";
  for (const auto line : split(trim(kManifest), '\n')) config += concat("  ", line, "\n");
  return concat(config, more);
}

class KubeRuntimeTest : public testing::Test {
 protected:
  KubeRuntimeTest() {
    folder_.write("podman", kStandIn, 0755);
    on("play", "printf 'Pod:\\np1\\nContainer:\\nc1\\n'");
    on("down", ":");
    on("pod-ps", ":");
    on("pod-rm", ":");
    containers({{"p1", "running"}});
    begin();
  }

  void on(std::string_view what, std::string_view script) {
    folder_.write(concat("on-", what), script);
  }

  // What podman lists: pod and state of each container, "exited 3" with a code.
  void containers(const std::vector<std::pair<std::string, std::string>>& listed) {
    std::string json;
    for (const auto& [pod, state] : listed) {
      const auto blank = std::min(state.find(' '), state.size());
      json += concat(json.empty() ? "" : ",", R"({"Id":")", pod, std::to_string(json.size()),
                     R"(","Pod":")", pod, R"(","State":")", state.substr(0, blank),
                     R"(","ExitCode":)", blank < state.size() ? state.substr(blank) : "0", "}");
    }
    on("ps", concat("echo '[", json, "]'"));
  }

  // As when the agent begins.
  void begin() {
    runtime_.reset();
    engine_.reset();
    podman::PodmanSettings settings;
    settings.program = folder_.path("podman");
    engine_.emplace(loop_.context.get_executor(), loop_, loop_, settings);
    runtime_.emplace(*engine_, loop_, timers_, loop_);
  }

  // All but the listings of containers.
  Lines taken_calls() {
    const auto text = folder_.read("calls");
    std::filesystem::remove(folder_.path("calls"));
    Lines lines;
    for (const auto line : split(trim(text), '\n'))
      if (!line.empty() && !line.starts_with("ps ")) lines.emplace_back(line);
    return lines;
  }

  template <class T, class Call>
  T answer_of(Call call) {
    std::optional<T> answer;
    int answers = 0;
    call([&](T told) {
      answer = std::move(told);
      ++answers;
    });
    EXPECT_TRUE(loop_.await([&] { return answers > 0; }));
    EXPECT_EQ(answers, 1);
    return *answer;
  }

  static WorkloadSpecPtr spec_of(std::string_view config) {
    auto workload = std::make_shared<Workload>();
    workload->agent = "agent_A";
    workload->runtime = kKubeRuntime;
    workload->runtime_config = config;
    return *WorkloadSpec::make("web", std::move(workload));
  }
  static std::string name_of(std::string_view config) {
    return to_string(spec_of(config)->instance());
  }

  CreateResult<ContainerId> create(std::string_view config, Equipment equipment = {}) {
    return answer_of<CreateResult<ContainerId>>([&](auto sink) {
      runtime_->create(spec_of(config), std::nullopt, std::move(equipment), sink);
    });
  }
  std::string error_of_create(std::string_view config, Equipment equipment = {}) {
    const auto created = create(config, std::move(equipment));
    if (created) return "no error";
    EXPECT_FALSE(created.error().may_succeed_later);
    return created.error().cause;
  }
  std::string error_of_remove(std::string_view config) {
    const auto removed = answer_of<Status>([&](auto sink) {
      runtime_->remove(spec_of(config)->instance(), ContainerId{name_of(config)}, sink);
    });
    return removed ? "" : removed.error().message;
  }
  // "instance state" of each
  Lines found(const AgentName& agent = {"agent_A"}) {
    const auto workloads = answer_of<Result<std::vector<agent::FoundWorkload>>>(
        [&](auto sink) { runtime_->list(agent, sink); });
    if (!workloads) return {workloads.error().message};
    Lines lines;
    for (const auto& each : *workloads) {
      EXPECT_EQ(each.runtime, "podman-kube");
      EXPECT_EQ(each.container.value, to_string(each.instance));
      EXPECT_FALSE(each.can_start_again);
      lines.push_back(concat(to_string(each.instance), " ", to_string(each.state)));
    }
    return lines;
  }
  void watch(std::string_view config, workload::Token token = 1) {
    runtime_->watch(token, spec_of(config)->instance(), ContainerId{name_of(config)},
                    [this](const ExecutionState& state) { states_.push_back(to_string(state)); });
  }
  bool await_state(const std::string& state) {
    return loop_.await([&] { return !states_.empty() && states_.back() == state; });
  }
  [[nodiscard]] bool has_volume(const std::string& name) const {
    return std::filesystem::exists(folder_.path(concat("volume-", name)));
  }
  [[nodiscard]] std::string execution_of(std::string_view arguments) const {
    return concat(". Execution of '", folder_.path("podman"), " ", arguments, "'");
  }

  const std::string config_ = config_with();
  const std::string name_ = name_of(config_);
  TestFolder folder_;
  TestLoop loop_;
  TestTimers timers_;
  std::optional<podman::PodmanEngine> engine_;
  std::optional<KubeRuntime> runtime_;
  Lines states_;
};

// -- Creating --------------------------------------------------------------------------------------------------------

// [utest->swdd~podman-kube-name-returns-podman-kube~1]
TEST_F(KubeRuntimeTest, IsCalledPodmanKube) {
  EXPECT_STREQ(kKubeRuntime, "podman-kube");
  EXPECT_FALSE(runtime_->can_start_again());
}

// [utest->swdd~podman-kube-uses-podman-cli~1]
// [utest->swdd~podman-kube-create-workload-apply-manifest~1]
// [utest->swdd~podman-kube-create-workload-returns-workload-id~1]
// [utest->swdd~podman-kube-create-workload-creates-config-volume~1]
// [utest->swdd~podman-kube-create-workload-creates-pods-volume~1]
TEST_F(KubeRuntimeTest, PlaysTheManifestAndKeepsWhatItIsMadeOf) {
  const auto id = create(config_);
  ASSERT_TRUE(id) << id.error().cause;
  EXPECT_EQ(id->value, name_);
  EXPECT_EQ(folder_.read("played"), kManifest);
  const auto calls = taken_calls();
  ASSERT_EQ(calls.size(), 5U);
  EXPECT_EQ(calls[0], concat("volume rm ", name_, ".config"));
  EXPECT_TRUE(calls[1].starts_with("volume create --label=data=")) << calls[1];
  EXPECT_TRUE(calls[1].ends_with(concat(" ", name_, ".config"))) << calls[1];
  EXPECT_EQ(calls[2], "kube play --quiet -");
  EXPECT_EQ(calls[3], concat("volume rm ", name_, ".pods"));
  EXPECT_EQ(calls[4], concat("volume create --label=data=WyJwMSJd ", name_, ".pods"));
  EXPECT_EQ(loop_.logged, Lines{});
}

TEST_F(KubeRuntimeTest, OptionsStandWherePodmanWantsThem) {
  const auto config = config_with(
      "generalOptions: [--log-level=debug]\nplayOptions: [--net, host]\ndownOptions: [--force]\n");
  ASSERT_TRUE(create(config));
  EXPECT_EQ(taken_calls().at(2), "--log-level=debug kube play --quiet --net host -");
  EXPECT_EQ(error_of_remove(config), "");
  EXPECT_EQ(taken_calls().at(0), "kube down --force -");
}

// [utest->swdd~podman-kube-create-continues-if-cannot-create-volume~1]
TEST_F(KubeRuntimeTest, VolumesThatCannotBeMadeDoNotStopTheCreation) {
  folder_.write("full", "");
  EXPECT_TRUE(create(config_));
  EXPECT_EQ(loop_.logged.size(), 2U);
  watch(config_);
  EXPECT_TRUE(await_state("Running(Ok)"));
  EXPECT_EQ(error_of_remove(config_), "");
}

TEST_F(KubeRuntimeTest, WhatWillNeverSucceedIsRefusedBeforePodmanIsAsked) {
  EXPECT_EQ(error_of_create(config_, {.control_interface = {}, .files = {{"/host", "/file"}}}),
            "Workload files are not supported for podman-kube runtime. Use ConfigMaps instead.");
  EXPECT_EQ(error_of_create("playOptions: []"),
            "runtimeConfig: line 1, column 1: missing field `manifest`");
  EXPECT_EQ(error_of_create(config_, {.control_interface = "/ci", .files = {}}),
            "Control interface target not specified in runtime config.");
  EXPECT_EQ(taken_calls(), Lines{});
}

TEST_F(KubeRuntimeTest, TheControlInterfaceIsInWhatIsPlayedAndTakenDown) {
  const auto config = config_with("controlInterfaceTarget: kp/c1\n");
  ASSERT_TRUE(create(config, {.control_interface = "/ci", .files = {}}));
  const auto played = folder_.read("played");
  EXPECT_NE(played.find("mountPath: /run/ankaios/control_interface\n"), std::string::npos);
  EXPECT_NE(played.find("path: /ci\n"), std::string::npos);
  EXPECT_EQ(error_of_remove(config), "");
  EXPECT_EQ(folder_.read("downed"), played);

  // Without an interface the target means nothing.
  ASSERT_TRUE(create(config));
  EXPECT_EQ(folder_.read("played"), kManifest);
}

// -- Half a pod ------------------------------------------------------------------------------------------------------

constexpr const char* kNoImage = "echo 'Error: i: image not known' >&2; exit 125";

TEST_F(KubeRuntimeTest, AFailedPlayIsToldInPodmansWords) {
  on("play", kNoImage);
  const auto created = create(config_);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().cause,
            "Error: i: image not known" + execution_of(R"("kube" "play" "--quiet" "-")"));
  EXPECT_TRUE(created.error().may_succeed_later);
  EXPECT_FALSE(created.error().left_something);
  EXPECT_FALSE(has_volume(name_ + ".config"));
}

TEST_F(KubeRuntimeTest, AFailedPlayTakesAwayItsHalfPodsAndNobodyElses) {
  // p1 was there before; p3 is another's that came meanwhile.
  on("play", kNoImage);
  on("pod-ps", "printf 'p1 kp\\np2 kp-pod\\np3 other\\n'");
  const auto created = create(config_);
  ASSERT_FALSE(created);
  EXPECT_FALSE(created.error().left_something);
  const auto calls = taken_calls();
  ASSERT_EQ(calls.size(), 6U);
  EXPECT_EQ(calls[3], "pod ps --no-trunc --format={{.ID}} {{.Name}}");
  EXPECT_EQ(calls[4], "pod rm --force --ignore p2");
  EXPECT_EQ(calls[5], concat("volume rm ", name_, ".config"));
}

TEST_F(KubeRuntimeTest, HalfAPodThatStaysIsTakenAwayBeforeTheNextTry) {
  on("play", kNoImage);
  on("pod-ps", "echo 'p2 kp'");
  on("pod-rm", "echo 'Error: busy' >&2; exit 125");
  const auto created = create(config_);
  ASSERT_FALSE(created);
  EXPECT_TRUE(created.error().left_something);
  EXPECT_TRUE(has_volume(name_ + ".config")) << "so that the next run of the agent finds it";
  taken_calls();

  on("play", "printf 'Pod:\\np1\\n'");
  on("pod-rm", ":");
  EXPECT_TRUE(create(config_));
  const auto calls = taken_calls();
  EXPECT_EQ(calls.at(0), "pod ps --no-trunc --format={{.ID}} {{.Name}}");
  EXPECT_EQ(calls.at(1), "pod rm --force --ignore p2");
  EXPECT_EQ(calls.at(2), concat("volume rm ", name_, ".config"));
}

TEST_F(KubeRuntimeTest, HalfAPodGoesWithTheWorkload) {
  on("play", kNoImage);
  on("pod-ps", "echo 'Error: no' >&2; exit 125");
  ASSERT_TRUE(create(config_).error().left_something);
  EXPECT_NE(error_of_remove(config_), "");
  on("pod-ps", "echo 'p2 kp'");
  taken_calls();
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_EQ(taken_calls().at(1), "pod rm --force --ignore p2");
  EXPECT_FALSE(has_volume(name_ + ".config"));
}

TEST_F(KubeRuntimeTest, NothingIsTakenAwayWhereNobodyKnowsWhatWasThereBefore) {
  on("play", kNoImage);
  on("ps", "exit 1");
  on("pod-ps", "echo 'p1 kp'");
  EXPECT_FALSE(create(config_));
  for (const auto& call : taken_calls()) EXPECT_FALSE(call.starts_with("pod rm")) << call;
}

// -- Removing --------------------------------------------------------------------------------------------------------

// [utest->swdd~podman-kube-delete-workload-downs-manifest-file~1]
// [utest->swdd~podman-kube-delete-removes-volumes~1]
TEST_F(KubeRuntimeTest, TakesTheManifestDownAndRemovesTheVolumes) {
  create(config_);
  taken_calls();
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_EQ(folder_.read("downed"), kManifest);
  EXPECT_EQ(taken_calls(), (Lines{"kube down -", concat("volume rm ", name_, ".pods"),
                                  concat("volume rm ", name_, ".config")}));
  EXPECT_EQ(error_of_remove(config_), "") << "what is gone already counts as removed";
}

// [utest->swdd~podman-kube-get-workload-id-uses-volumes~1]
TEST_F(KubeRuntimeTest, TheNextRunOfTheAgentRemovesItAlike) {
  const auto config = config_with("downOptions: [--force]\n");
  create(config);
  begin();
  taken_calls();
  EXPECT_EQ(error_of_remove(config), "");
  EXPECT_EQ(folder_.read("downed"), kManifest);
  const auto name = name_of(config);
  EXPECT_EQ(taken_calls(),
            (Lines{concat("volume inspect ", name, ".config"),
                   concat("volume inspect ", name, ".pods"), "kube down --force -",
                   concat("volume rm ", name, ".pods"), concat("volume rm ", name, ".config")}));
}

TEST_F(KubeRuntimeTest, ARemovalThatFailsSaysSoAndCanBeTriedAgain) {
  create(config_);
  on("down", "echo 'Error: busy' >&2; exit 125");
  EXPECT_EQ(error_of_remove(config_), "Error: busy" + execution_of(R"("kube" "down" "-")"));
  EXPECT_TRUE(has_volume(name_ + ".config"));
  on("down", ":");
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_FALSE(has_volume(name_ + ".config"));
}

constexpr const char* kNoSuchPod =
    "echo 'Error: no pod with name or ID kp found: no such pod' >&2; exit 125";

TEST_F(KubeRuntimeTest, PodsThatAreGoneCountAsTakenDown) {
  create(config_);
  on("down", kNoSuchPod);
  containers({});
  taken_calls();
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_EQ(taken_calls(), (Lines{"kube down -", concat("volume rm ", name_, ".pods"),
                                  concat("volume rm ", name_, ".config")}));
}

TEST_F(KubeRuntimeTest, WhenOnePodIsGoneTheOthersAreTakenAwayByTheirIds) {
  on("play", "printf 'Pod:\\np1\\n\\nPod:\\np2\\n\\nPod:\\np3\\n'");
  create(config_);
  on("down", kNoSuchPod);
  containers({{"p1", "running"}, {"p3", "running"}, {"p9", "running"}});
  taken_calls();
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_EQ(taken_calls().at(1), "pod rm --force --ignore p1 p3");

  create(config_);
  on("pod-rm", "echo 'Error: busy' >&2; exit 125");
  EXPECT_EQ(error_of_remove(config_),
            "Error: busy" + execution_of(R"("pod" "rm" "--force" "--ignore" "p1" "p3")"));
}

TEST_F(KubeRuntimeTest, PausedPodsAreTakenAwayByForce) {
  create(config_);
  on("down", "echo 'Error: cannot remove container c1 as it is paused - …' >&2; exit 125");
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_EQ(taken_calls().at(6), "pod rm --force --ignore p1");
}

TEST_F(KubeRuntimeTest, VolumesThatStayDoNotFailTheRemoval) {
  create(config_);
  folder_.write("busy", "");
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_EQ(loop_.logged.size(), 2U);
}

TEST_F(KubeRuntimeTest, WhatCannotBeReadCannotBeRemovedAndSaysWhatToDo) {
  create(config_);
  begin();
  folder_.write(concat("volume-", name_, ".config"), "%%%");
  EXPECT_EQ(error_of_remove(config_),
            concat("Could not load workload metadata from volume '", name_,
                   ".config': the label 'data' of the volume is no base64 without padding: "
                   "Invalid symbol 37, offset 0.. Its pods, if any, have to be removed by hand, "
                   "then the volume."));
}

// -- Finding ---------------------------------------------------------------------------------------------------------

// [utest->swdd~podman-kube-list-existing-workloads-using-config-volumes~1]
TEST_F(KubeRuntimeTest, FindsWhatAnEarlierRunHasPlayed) {
  create(config_);
  begin();
  taken_calls();
  EXPECT_EQ(found(), (Lines{concat(name_, " Running(Ok)")}));
  EXPECT_EQ(taken_calls(), (Lines{"volume ls --filter name=.agent_A.config$ --format={{.Name}}",
                                  concat("volume inspect ", name_, ".config"),
                                  concat("volume inspect ", name_, ".pods")}));
  // What is known is not read again.
  EXPECT_EQ(found(), (Lines{concat(name_, " Running(Ok)")}));
  EXPECT_EQ(taken_calls().size(), 1U);
  EXPECT_EQ(found({"A"}), Lines{});

  containers({{"p1", "exited 2"}});
  begin();
  EXPECT_EQ(found(), (Lines{concat(name_, " Failed(ExecFailed): 'Exit code: '2''")}));
}

TEST_F(KubeRuntimeTest, OneUnreadableVolumeAffectsOnlyItself) {
  create(config_);
  folder_.write("volume-odd.aaa.agent_A.config", "%%%");
  folder_.write("volume-wrong.bbb.agent_A.config", "eDogeQ");
  begin();
  EXPECT_EQ(found(), (Lines{concat(name_, " Running(Ok)")}));
  EXPECT_EQ(std::ranges::count(loop_.logged, "A podman-kube workload cannot be found again"), 2);
}

TEST_F(KubeRuntimeTest, WithoutItsPodsAWorkloadCountsAsEnded) {
  create(config_);
  std::filesystem::remove(folder_.path(concat("volume-", name_, ".pods")));
  begin();
  EXPECT_EQ(found(), (Lines{concat(name_, " Succeeded(Ok)")}));
  EXPECT_EQ(error_of_remove(config_), "");
  EXPECT_EQ(folder_.read("downed"), kManifest);
}

TEST_F(KubeRuntimeTest, WhereNothingWasFoundOrMadePodmanIsNotAskedAgainForAWhile) {
  create(config_);
  const auto volume = folder_.path(concat("volume-", name_, ".config"));
  std::filesystem::rename(volume, folder_.path("late"));
  begin();
  taken_calls();
  EXPECT_EQ(found(), Lines{});
  EXPECT_EQ(taken_calls().size(), 1U);
  EXPECT_EQ(found(), Lines{});
  EXPECT_EQ(taken_calls(), Lines{});

  // A command of the agent before us was late.
  std::filesystem::rename(folder_.path("late"), volume);
  EXPECT_EQ(timers_.pauses, std::vector<Duration>{kNoVolumesLife});
  timers_.fire();
  EXPECT_EQ(found(), (Lines{concat(name_, " Running(Ok)")}));
  EXPECT_EQ(found(), (Lines{concat(name_, " Running(Ok)")}));
}

TEST_F(KubeRuntimeTest, WhatIsMadeAfterAnEmptyListingIsFound) {
  EXPECT_EQ(found(), Lines{});
  create(config_);
  EXPECT_EQ(found(), (Lines{concat(name_, " Running(Ok)")}));
  error_of_remove(config_);
  EXPECT_EQ(found(), Lines{});
  create(config_);
  timers_.fire();  // of the memories that are gone already
  EXPECT_EQ(found(), (Lines{concat(name_, " Running(Ok)")}));
}

TEST_F(KubeRuntimeTest, AListingThatFailsIsAnError) {
  create(config_);
  begin();
  on("ps", "echo 'Error: down' >&2; exit 1");
  EXPECT_EQ(found(), (Lines{"Error: down" + execution_of(R"("ps" "--all" "--format=json")")}));
  folder_.write("no-ls", "");
  EXPECT_EQ(found().at(0).substr(0, 12), "Error: no ls");
}

// -- States ----------------------------------------------------------------------------------------------------------

// [utest->swdd~podman-kube-state-getter-reset-cache~1]
TEST_F(KubeRuntimeTest, TheFirstStateIsThatAfterThePlay) {
  containers({});
  EXPECT_EQ(found(), Lines{});  // the listing of before is in the cache
  on("play",
     R"(echo "echo '[{\"Id\":\"c\",\"Pod\":\"p1\",\"State\":\"running\"}]'" > "$folder/on-ps"
printf 'Pod:\np1\n')");
  create(config_);
  watch(config_);
  EXPECT_TRUE(await_state("Running(Ok)"));
  EXPECT_EQ(states_.size(), 1U);
}

TEST_F(KubeRuntimeTest, StatesAreAskedForEverySecondWhereNothingTellsOfChanges) {
  create(config_);
  watch(config_);
  ASSERT_TRUE(await_state("Running(Ok)"));
  ASSERT_TRUE(loop_.await([&] { return !timers_.tasks.empty(); }));
  EXPECT_EQ(timers_.pauses.back(), shell::kStatePollPeriod);
  containers({{"p1", "exited 3"}});
  // What podman said a moment ago counts for a second.
  EXPECT_TRUE(loop_.await([&] {
    timers_.fire();
    return states_.back() == "Failed(ExecFailed): 'Exit code: '3''";
  }));
}

TEST_F(KubeRuntimeTest, IsNotGoneBeforeAllOfItIs) {
  create(config_);
  watch(config_);
  ASSERT_TRUE(await_state("Running(Ok)"));
  on("down", R"(echo 'echo []' > "$folder/on-ps"
until [ -e "$folder/go" ]; do sleep 0.01; done)");
  std::optional<Status> removed;
  runtime_->remove(spec_of(config_)->instance(), ContainerId{name_},
                   [&](const Status& status) { removed = status; });
  ASSERT_TRUE(loop_.await([&] {
    timers_.fire();
    return states_.back() == "Stopping(Stopping): 'stopping container'";
  }));
  folder_.write("go", "");
  ASSERT_TRUE(loop_.await([&] { return removed.has_value(); }));
  EXPECT_TRUE(*removed);
  EXPECT_EQ(states_.size(), 2U);
  EXPECT_FALSE(has_volume(name_ + ".config"));
}

TEST_F(KubeRuntimeTest, AListingThatFailsIsAState) {
  create(config_);
  on("ps", "exit 1");
  watch(config_);
  EXPECT_TRUE(await_state("Failed(Unknown): 'Error getting state from pods.'"));
}

TEST_F(KubeRuntimeTest, WhoStopsWatchingIsNotToldAnyMore) {
  create(config_);
  watch(config_, 1);
  runtime_->unwatch(1);
  watch(config_, 2);
  EXPECT_TRUE(await_state("Running(Ok)"));
  EXPECT_EQ(states_.size(), 1U);
}

TEST_F(KubeRuntimeTest, OneListingServesThisRuntimeAndPodmans) {
  create(config_);
  std::filesystem::remove(folder_.path("calls"));
  int answers = 0;
  engine_->list({"ankaios", {"agent_A"}}, [&](const auto&) {
    engine_->list_pods([&](const auto&) { ++answers; });
    runtime_->watch(1, spec_of(config_)->instance(), {name_}, [&](const auto&) { ++answers; });
  });
  ASSERT_TRUE(loop_.await([&] { return answers == 2; }));
  EXPECT_EQ(folder_.read("calls"), "ps --all --format=json\n");
}

// -- Logs ------------------------------------------------------------------------------------------------------------

TEST_F(KubeRuntimeTest, LogsEndAtOnce) {
  int ends = 0;
  const auto count = [&](const shell::LogEvent& event) {
    EXPECT_TRUE(std::get<shell::LogEnd>(event).status);
    ++ends;
  };
  runtime_->end_logs(runtime_->logs({name_}, {}, [](const auto&) { FAIL() << "told"; }));
  runtime_->logs({name_}, {}, count);
  EXPECT_EQ(ends, 0);
  EXPECT_TRUE(loop_.await([&] { return ends == 1; }));
}

}  // namespace
}  // namespace tiphys::kube
