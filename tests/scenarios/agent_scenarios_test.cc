// Plays the stories of tests/scenarios/agent against the machine of agent A.
//
//   connected | disconnected | load 12 4096 | hello web.1 db.1[ALWAYS] | update +web.2 -web.1 -db.1
//   state other.1.B Running(Ok) | response r1 | logs r1 web.1.A | stop logs r1
//   listed podman web.1 c1 Running(Ok) | listed podman | list failed podman: broken pipe
//   created web c1 | create failed web: no such image | create refused web: no such file | cleared web
//   deleted c1 | delete failed c1: busy
//   observed c1 Running(Ok) | timer web | timer list | timer sweep | timer removal
//   interface 1 said hello 1.0.0 | interface 1 asked r1 desiredState | interface 1 garbled
//   interface 1 lost log entries of r1 | interface 1 not opened: no space
//   lines c1 one two | lines end c1 | taken (by the link, the oldest lines)
//
// "; " stands between several containers of a listing. An answer is for the newest effect that fits; "old" before it
// makes it one for the effect before that. "after 40s" before an event lets time pass. The head of the file may name the
// runtimes, or "none", after "# runtimes: "; without it there is podman.

#include <gtest/gtest.h>

#include "base/match.h"
#include "base/strings.h"
#include "core/agent/agent_machine.h"
#include "tests/scenarios/scenario.h"

namespace tiphys::agent {
namespace {

using scenario::Words;

class Player {
 public:
  explicit Player(const std::string& runtimes)
      : machine_(Settings{AgentName{"A"}, names_in(runtimes)}) {}

  std::vector<std::string> operator()(const std::string& text) {
    std::vector<std::string> answers;
    for (const auto& effect : machine_.step(read(text), now_)) {
      note(effect);
      answers.push_back(to_string(effect));
    }
    return answers;
  }

 private:
  using Tokens = std::map<std::string, std::vector<Token>>;  // by what the effect was about

  static std::set<std::string> names_in(const std::string& text) {
    std::set<std::string> names;
    if (text != "none")
      for (const auto name : split(text, ' ')) names.emplace(name);
    return names;
  }

  Event read(const std::string& text) {
    Words words(text);
    if (words.take("after")) now_ = now_ + std::chrono::seconds(std::stoi(words.word()));
    if (words.take("connected")) return Connected{};
    if (words.take("disconnected")) return Disconnected{};
    if (words.take("interface")) {
      const InterfaceNumber number = std::stoull(words.word());
      return ForInterface{number, read_interface_event(words)};
    }
    if (words.take("load")) {
      const auto cpu = static_cast<std::uint32_t>(std::stoul(words.word()));
      return LoadSampled{AgentStatus{cpu, std::stoull(words.rest())}};
    }
    const std::size_t back = words.take("old") ? 2 : 1;
    const auto newest = [&](const Tokens& tokens, const std::string& about) {
      const auto entry = tokens.find(about);
      if (entry == tokens.end() || entry->second.size() < back)
        words.misread("an effect about " + about);
      return entry->second[entry->second.size() - back];
    };
    const auto name_before_colon = [&] {
      std::string name = words.word();
      name.pop_back();
      return name;
    };
    if (words.take("listed")) {
      const std::string runtime = words.word();
      return Listed{newest(lists_, runtime), found_in(runtime, words.rest())};
    }
    if (words.take("list failed")) {
      const Token token = newest(lists_, name_before_colon());
      return ListFailed{token, words.rest()};
    }
    if (words.take("created")) {
      const Token token = newest(creates_, words.word());
      return ForLoop{workload::Created{token, ContainerId{words.rest()}}};
    }
    if (words.take("create failed")) {
      const Token token = newest(creates_, name_before_colon());
      return ForLoop{workload::CreateFailed{token, words.rest(), true}};
    }
    if (words.take("create refused")) {  // for good
      const Token token = newest(creates_, name_before_colon());
      return ForLoop{workload::CreateFailed{token, words.rest(), false}};
    }
    if (words.take("deleted")) return ForLoop{workload::Deleted{newest(deletes_, words.rest())}};
    if (words.take("delete failed")) {
      const Token token = newest(deletes_, name_before_colon());
      return ForLoop{workload::DeleteFailed{token, words.rest()}};
    }
    if (words.take("cleared"))
      return ForLoop{workload::FolderCleared{newest(clears_, words.rest())}};
    if (words.take("observed")) {
      const Token token = newest(watches_, words.word());
      return ForLoop{workload::Observed{token, scenario::execution_state_of(words.rest())}};
    }
    if (words.take("timer")) return ForLoop{workload::TimerFired{newest(timers_, words.rest())}};
    if (words.take("lines end")) return LogsEnded{newest(fetches_, words.rest()), ""};
    if (words.take("lines")) {
      LogsArrived arrived{newest(fetches_, words.word()), {}};
      while (!words.empty()) arrived.lines.push_back(words.word());
      return arrived;
    }
    if (words.take("taken")) return LogsSent{++taken_};
    return Received{read_message(words)};
  }

  static InterfaceEvent read_interface_event(Words& words) {
    if (words.take("said hello")) return Said{ControlInterfaceHello{words.rest()}, 10};
    if (words.take("asked")) {
      Request request{words.word(), {}};
      request.content = CompleteStateRequest{{words.rest()}, false};
      return Said{std::move(request), 10};
    }
    if (words.take("garbled")) return Garbled{"3 bytes"};
    if (words.take("lost log entries of")) return Undelivered{Parcel::kLogEntries, words.rest()};
    if (words.take("not opened:")) return NotOpened{words.rest()};
    words.misread("what happens at a control interface");
  }

  static FromServer read_message(Words& words) {
    if (words.take("hello")) {
      ServerHello hello;
      while (!words.empty()) hello.added.push_back(scenario::spec_of(words.word()));
      return hello;
    }
    if (words.take("update")) {
      UpdateWorkload update;
      while (!words.empty()) {
        const std::string word = words.word();
        if (word[0] == '+')
          update.added.push_back(scenario::spec_of(word.substr(1)));
        else
          update.deleted.push_back(scenario::deleted_of(word.substr(1)));
      }
      return update;
    }
    if (words.take("state")) {
      const InstanceName instance = parse_instance_name(words.word()).value();
      return UpdateWorkloadState{{{instance, scenario::execution_state_of(words.rest())}}};
    }
    if (words.take("response")) return Response{words.rest(), ErrorResponse{"no"}};
    if (words.take("logs")) {
      LinkLogsRequest request{words.word(), {}};
      while (!words.empty())
        request.request.instances.push_back(parse_instance_name(words.word()).value());
      return request;
    }
    if (words.take("stop logs")) return LinkLogsCancel{words.rest()};
    words.misread("an event of the agent");
  }

  static std::vector<FoundWorkload> found_in(const std::string& runtime, const std::string& text) {
    std::vector<FoundWorkload> found;
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find("; ", begin), text.size());
      Words words(text.substr(begin, end - begin));
      FoundWorkload container;
      container.runtime = runtime;
      container.instance = scenario::instance_of(words.word());
      container.container = ContainerId{words.word()};
      container.state = scenario::execution_state_of(words.rest());
      found.push_back(std::move(container));
      begin = end + 2;
    }
    return found;
  }

  void note(const Effect& effect) {
    match(
        effect, [&](const ListWorkloads& e) { lists_[e.runtime].push_back(e.token); },
        [&](const workload::CreateContainer& e) {
          const std::string& name = e.spec->instance().workload.value;
          names_[workload::loop_of(e.token)] = name;
          creates_[name].push_back(e.token);
        },
        [&](const workload::DeleteContainer& e) {
          names_[workload::loop_of(e.token)] = e.instance.workload.value;
          deletes_[e.container ? e.container->value : e.instance.workload.value].push_back(e.token);
        },
        [&](const workload::ClearFolder& e) {
          clears_[e.instance.workload.value].push_back(e.token);
        },
        [&](const workload::Watch& e) { watches_[e.container.value].push_back(e.token); },
        [&](const workload::ArmTimer& e) {
          const auto loop = workload::loop_of(e.token);
          const std::string own = e.after == kListAgain ? "list"
                                  : e.after == kSweepPeriod || e.after == kSweepAfterFailure
                                      ? "sweep"
                                      : "removal";
          timers_[loop == 0 ? own : names_[loop]].push_back(e.token);
        },
        [&](const FetchLogs& e) { fetches_[e.container.value].push_back(e.fetch); },
        [](const auto&) {});
  }

  AgentMachine machine_;
  Instant now_;
  std::map<workload::LoopNumber, std::string> names_;
  Tokens lists_;
  Tokens creates_;
  Tokens deletes_;
  Tokens clears_;
  Tokens watches_;
  Tokens timers_;
  Tokens fetches_;
  ReceiptNumber taken_ = 0;  // receipts are counted from 1
};

class AgentScenario : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(AgentScenario, GoesAsWritten) {
  Player player(scenario::head_of(GetParam(), "# runtimes: ").value_or("podman"));
  scenario::play(GetParam(), std::ref(player));
}

INSTANTIATE_TEST_SUITE_P(Story, AgentScenario, testing::ValuesIn(scenario::files_of("agent")),
                         [](const auto& test) { return scenario::name_of(test.param); });

}  // namespace
}  // namespace tiphys::agent
