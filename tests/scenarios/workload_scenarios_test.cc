// Plays the stories of tests/scenarios/workload against the control loop of one workload.
//
//   create | create from c1 | resume c1 | resume for once c1 | replace web.1 c1 | make room c1 | discard c1
//   update to web.2 | update to nothing | delete
//   created c1 | create failed: no such image | create half failed: cannot start | create refused: no image given
//   deleted | delete failed: busy | folder cleared | observed Running(Ok) | timer
//
// An answer is for the newest effect of its kind; "old" before it makes it one for the effect before that. "after 40s"
// before an event lets time pass. The head of the file may hold the spec of the loop after "# spec: ", or the instance of a
// loop without one after "# left behind: "; else it is web.1.

#include <gtest/gtest.h>

#include "base/match.h"
#include "core/workload/control_loop.h"
#include "tests/scenarios/scenario.h"

namespace tiphys::workload {
namespace {

using scenario::Words;

class Player {
 public:
  explicit Player(WorkloadSpecPtr spec) : loop_(7, std::move(spec)) {}
  Player(InstanceName instance, std::string runtime)
      : loop_(7, std::move(instance), std::move(runtime)) {}

  std::vector<std::string> operator()(const std::string& text) {
    std::vector<std::string> answers;
    for (const auto& effect : loop_.step(read(text), now_)) {
      note(effect);
      answers.push_back(to_string(effect));
    }
    return answers;
  }

 private:
  using Tokens = std::vector<Token>;

  Event read(const std::string& text) {
    Words words(text);
    if (words.take("after")) now_ = now_ + std::chrono::seconds(std::stoi(words.word()));
    const std::size_t back = words.take("old") ? 2 : 1;
    const auto newest = [&](const Tokens& tokens) {
      if (tokens.size() < back) words.misread("an effect that this answers");
      return tokens[tokens.size() - back];
    };
    if (words.take("created")) return Created{newest(creates_), ContainerId{words.rest()}};
    if (words.take("create failed:")) return CreateFailed{newest(creates_), words.rest(), true};
    if (words.take("create half failed:"))
      return CreateFailed{newest(creates_), words.rest(), true, true};
    if (words.take("create refused:")) return CreateFailed{newest(creates_), words.rest(), false};
    if (words.take("deleted")) return Deleted{newest(deletes_)};
    if (words.take("delete failed:")) return DeleteFailed{newest(deletes_), words.rest()};
    if (words.take("folder cleared")) return FolderCleared{newest(clears_)};
    if (words.take("observed"))
      return Observed{newest(watches_), scenario::execution_state_of(words.rest())};
    if (words.take("timer")) return TimerFired{newest(timers_)};
    if (words.take("create from")) return Create{ContainerId{words.rest()}};
    if (words.take("create")) return Create{};
    if (words.take("resume for once")) return Resume{ContainerId{words.rest()}, false};
    if (words.take("resume")) return Resume{ContainerId{words.rest()}};
    if (words.take("replace")) {
      const InstanceName instance = scenario::instance_of(words.word());
      return Replace{instance, ContainerId{words.rest()}};
    }
    if (words.take("make room")) return MakeRoom{ContainerId{words.rest()}};
    if (words.take("discard")) return Discard{ContainerId{words.rest()}};
    if (words.take("update to nothing")) return Update{nullptr};
    if (words.take("update to")) return Update{scenario::spec_of(words.rest())};
    if (words.take("delete")) return Delete{};
    words.misread("an event of the control loop");
  }

  void note(const Effect& effect) {
    match(
        effect, [&](const CreateContainer& e) { creates_.push_back(e.token); },
        [&](const DeleteContainer& e) { deletes_.push_back(e.token); },
        [&](const ClearFolder& e) { clears_.push_back(e.token); },
        [&](const Watch& e) { watches_.push_back(e.token); },
        [&](const ArmTimer& e) { timers_.push_back(e.token); }, [](const auto&) {});
  }

  ControlLoop loop_;
  Instant now_;
  Tokens creates_;
  Tokens deletes_;
  Tokens clears_;
  Tokens watches_;
  Tokens timers_;
};

class WorkloadScenario : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(WorkloadScenario, GoesAsWritten) {
  const auto left_behind = scenario::head_of(GetParam(), "# left behind: ");
  Player player =
      left_behind
          ? Player(scenario::instance_of(*left_behind), "podman")
          : Player(scenario::spec_of(scenario::head_of(GetParam(), "# spec: ").value_or("web.1")));
  scenario::play(GetParam(), std::ref(player));
}

INSTANTIATE_TEST_SUITE_P(Story, WorkloadScenario, testing::ValuesIn(scenario::files_of("workload")),
                         [](const auto& test) { return scenario::name_of(test.param); });

}  // namespace
}  // namespace tiphys::workload
