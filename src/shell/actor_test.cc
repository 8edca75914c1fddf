#include "shell/actor.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::shell {
namespace {

using Lines = std::vector<std::string>;

struct Word {
  std::string text;
};
struct Deed {
  std::string text;
};
std::string to_string(const Word& word) { return "word " + word.text; }
std::string to_string(const Deed& deed) { return "deed " + deed.text; }

class RecordingTrace final : public Trace {
 public:
  explicit RecordingTrace(bool enabled) : enabled_(enabled) {}
  [[nodiscard]] bool enabled() const override { return enabled_; }
  void event(std::string_view machine, const std::string& event) override {
    lines.push_back(std::string(machine) + " > " + event);
  }
  void effect(std::string_view machine, const std::string& effect) override {
    lines.push_back(std::string(machine) + "   " + effect);
  }

  Lines lines;

 private:
  const bool enabled_;
};

// A machine that answers every word with two deeds, on a strand in virtual time.
class ActorTest : public testing::Test {
 protected:
  using TestActor = Actor<Word, Deed>;

  TestActor make(ActorSettings settings, Trace& trace) {
    const std::string name = settings.name;
    return TestActor(
        std::move(settings), process, process, trace,
        [this, name](const Word& word, Instant) {
          happened.push_back(name + " hears " + word.text);
          return std::vector<Deed>{{word.text + "1"}, {word.text + "2"}};
        },
        [this, name](const Deed& deed) {
          happened.push_back(name + " does " + deed.text);
          if (on_perform) on_perform(deed);
        });
  }

  // What the machines heard, without what they did.
  [[nodiscard]] Lines heard() const {
    Lines lines;
    for (const auto& line : happened)
      if (line.find(" hears ") != std::string::npos) lines.push_back(line);
    return lines;
  }

  void run() {
    world.run_until(world.now(), [] {});
  }

  sim::World world{1, false};
  sim::Process process{world};
  RecordingTrace quiet{false};
  Lines happened;
  std::function<void(const Deed&)> on_perform;
};

// [utest->swdd~agent-uses-async-channels~1]
TEST_F(ActorTest, HandlesEventsInOrderAndPerformsTheEffectsOfOneBeforeTheNext) {
  auto actor = make({.name = "A"}, quiet);
  actor.tell({"x"});
  actor.tell({"y"});
  EXPECT_TRUE(happened.empty()) << "telling is not handling";
  EXPECT_EQ(actor.waiting(), 2U);
  run();
  EXPECT_EQ(happened,
            (Lines{"A hears x", "A does x1", "A does x2", "A hears y", "A does y1", "A does y2"}));
  EXPECT_EQ(actor.waiting(), 0U);
}

TEST_F(ActorTest, TellsTheMachineWhatTimeItIs) {
  std::optional<Instant> told;
  TestActor actor(
      {.name = "A"}, process, process, quiet,
      [&](const Word&, Instant now) {
        told = now;
        return std::vector<Deed>{};
      },
      [](const Deed&) {});
  world.run_until(Instant{std::chrono::seconds(5)}, [] {});
  actor.tell({"x"});
  run();
  EXPECT_EQ(told, Instant{std::chrono::seconds(5)});
}

TEST_F(ActorTest, ActorsOfAStrandTakeTurnsEventByEvent) {
  auto a = make({.name = "A"}, quiet);
  auto b = make({.name = "B"}, quiet);
  for (const auto* word : {"1", "2", "3"}) a.tell({word});
  for (const auto* word : {"1", "2"}) b.tell({word});
  run();
  EXPECT_EQ(heard(), (Lines{"A hears 1", "B hears 1", "A hears 2", "B hears 2", "A hears 3"}));
}

TEST_F(ActorTest, WhatIsToldWhilePerformingWaitsBehindTheOthers) {
  auto actor = make({.name = "A"}, quiet);
  on_perform = [&](const Deed& deed) {
    if (deed.text == "x1") actor.tell({"answer"});
  };
  actor.tell({"x"});
  actor.tell({"y"});
  run();
  EXPECT_EQ(heard(), (Lines{"A hears x", "A hears y", "A hears answer"}));
}

TEST_F(ActorTest, AnIdleActorWakesUpAgain) {
  auto actor = make({.name = "A"}, quiet);
  for (const auto* word : {"x", "y"}) {
    actor.tell({word});
    run();
  }
  EXPECT_EQ(heard(), (Lines{"A hears x", "A hears y"}));
}

TEST_F(ActorTest, RefusesRequestsWhenTooManyWait) {
  auto actor = make({.name = "A", .max_requests = 2}, quiet);
  EXPECT_TRUE(actor.try_tell({"1"}));
  actor.tell({"an answer takes no place"});
  EXPECT_TRUE(actor.try_tell({"2"}));
  EXPECT_FALSE(actor.try_tell({"3"}));
  actor.tell({"an answer is never refused"});
  actor.tell_latest(0, {"nor is a state"});
  run();
  EXPECT_EQ(heard(), (Lines{"A hears 1", "A hears an answer takes no place", "A hears 2",
                            "A hears an answer is never refused", "A hears nor is a state"}));
}

TEST_F(ActorTest, ARequestThatIsTakenUpMakesRoomForAnother) {
  auto actor = make({.name = "A", .max_requests = 1}, quiet);
  bool accepted = false;
  on_perform = [&](const Deed& deed) {
    if (deed.text == "11") accepted = actor.try_tell({"2"});
  };
  EXPECT_TRUE(actor.try_tell({"1"}));
  EXPECT_FALSE(actor.try_tell({"too early"}));
  run();
  EXPECT_TRUE(accepted);
  EXPECT_EQ(heard(), (Lines{"A hears 1", "A hears 2"}));
  EXPECT_TRUE(actor.try_tell({"3"}));
}

TEST_F(ActorTest, TheLatestTakesThePlaceOfTheOneThatWaitsInItsSlot) {
  auto actor = make({.name = "A"}, quiet);
  actor.tell({"before"});
  actor.tell_latest(0, {"old"});
  actor.tell_latest(1, {"other slot"});
  EXPECT_TRUE(actor.try_tell({"request"}));
  actor.tell_latest(0, {"new"});
  run();
  EXPECT_EQ(heard(),
            (Lines{"A hears before", "A hears new", "A hears other slot", "A hears request"}));
}

TEST_F(ActorTest, TheLatestDoesNotReplaceTheOneThatIsBeingHandled) {
  auto actor = make({.name = "A"}, quiet);
  on_perform = [&](const Deed& deed) {
    if (deed.text == "first1") actor.tell_latest(0, {"second"});
    if (deed.text == "first2") actor.tell_latest(0, {"third"});
  };
  actor.tell_latest(0, {"first"});
  run();
  EXPECT_EQ(heard(), (Lines{"A hears first", "A hears third"}));
}

TEST_F(ActorTest, WritesALineForEveryEventAndEffectBeforeItHappens) {
  RecordingTrace trace(true);
  auto actor = make({.name = "A"}, trace);
  Lines before_first_deed;
  on_perform = [&](const Deed& deed) {
    if (deed.text == "x1") before_first_deed = trace.lines;
  };
  actor.tell({"x"});
  run();
  EXPECT_EQ(before_first_deed, (Lines{"A > word x", "A   deed x1"}));
  EXPECT_EQ(trace.lines, (Lines{"A > word x", "A   deed x1", "A   deed x2"}));
}

TEST_F(ActorTest, MakesNoLinesThatNobodyReads) {
  auto actor = make({.name = "A"}, quiet);
  actor.tell({"x"});
  run();
  EXPECT_TRUE(quiet.lines.empty());
  EXPECT_EQ(happened.size(), 3U);
}

}  // namespace
}  // namespace tiphys::shell
