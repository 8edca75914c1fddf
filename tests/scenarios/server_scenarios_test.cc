// Plays the stories of tests/scenarios/server against the machine of the cluster.
//
//   start | start with web@A:nginx | loaded nothing | loaded 3 web@A:nginx | load failed: disk
//   agent A opens #1 zone=front | commander opens #2 | cli opens #3 | #1 closes | #1 goodbye
//   #1 reports web@A:nginx Running(Ok) | #1 load A 12 4096 | #1 hello again
//   #2 replaces r1 web@A:nginx db@B:pg | #2 sets r1 web@A:nginx[blue] | #2 deletes r1 web | #2 version r1 v2
//   #2 tags r1 A zone=back | #2 reads r1 agents
//   #7 asks: sets r1 web@A:nginx (any update, as a dry run)
//   #2 subscribes r1 | #2 unsubscribes r1 | #2 logs r1 | #2 stops logs r1
//   committed 1 | commit conflict | commit failed: disk full | timer
//   hooks first second (before anything else) | hook changed nothing | hook made +web@A:nginx -db@B:pg
//   hook vetoed: no | hook failed: crash | hook cannot be read: junk
//
// web@A:nginx is the workload web for agent A with the runtime config nginx, web@:nginx one without an agent, and
// web@A:nginx[blue] one with a tag; web@A:nginx<db<log waits until db and log run. "; " stands between several reports. An answer is for the newest effect of its kind;
// "old" before it makes it one for the effect before that. Instances are written with their config in place of its hash.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/match.h"
#include "base/strings.h"
#include "core/server/server_machine.h"
#include "tests/scenarios/scenario.h"

namespace tiphys::server {
namespace {

using scenario::Words;

class Player {
 public:
  std::vector<std::string> operator()(const std::string& text) {
    std::vector<std::string> answers;
    if (Words words(text); words.take("hooks")) {
      std::vector<Hook> hooks;
      while (!words.empty()) hooks.push_back({words.word()});
      machine_ = ServerMachine(std::move(hooks));
      return answers;
    }
    for (const auto& effect : machine_.step(read(text))) {
      match(
          effect, [&](const Load& e) { loads_.push_back(e.token); },
          [&](const Commit& e) { commits_.push_back(e.token); },
          [&](const RunHook& e) { hooks_.push_back(e.token); },
          [&](const ArmTimer& e) { timers_.push_back(e.token); }, [](const auto&) {});
      answers.push_back(with_configs(to_string(effect)));
    }
    return answers;
  }

 private:
  Event read(const std::string& text) {
    Words words(text);
    const std::size_t back = words.take("old") ? 2 : 1;
    const auto newest = [&](const std::vector<Token>& tokens) {
      if (tokens.size() < back) words.misread("an effect that this answers");
      return tokens[tokens.size() - back];
    };
    if (words.take("start with")) return Start{read_state(words)};
    if (words.take("start")) return Start{};
    if (words.take("loaded nothing")) return Loaded{newest(loads_), {}};
    if (words.take("loaded")) {
      const Version version = std::stoull(words.word());
      return Loaded{newest(loads_), {read_state(words), version}};
    }
    if (words.take("load failed:")) return LoadFailed{newest(loads_), words.rest()};
    if (words.take("committed")) return Committed{newest(commits_), std::stoull(words.rest())};
    if (words.take("commit conflict")) return CommitConflict{newest(commits_)};
    if (words.take("commit failed:")) return CommitFailed{newest(commits_), words.rest()};
    if (words.take("hook")) return HookAnswered{newest(hooks_), read_hook_answer(words)};
    if (words.take("timer")) return TimerFired{newest(timers_)};
    if (words.take("agent")) {
      AgentPeer peer{AgentName{words.word()}, {}};
      if (peer.name.value == "''") peer.name.value.clear();
      words.take("opens");
      const ConnectionNumber connection = number_of(words.word());
      peer.tags = read_tags(words);
      return Opened{connection, peer};
    }
    for (const bool is_cli : {false, true})
      if (words.take(is_cli ? "cli opens" : "commander opens")) {
        const std::string number = words.word();
        return Opened{number_of(number),
                      CommanderPeer{is_cli, concat(is_cli ? "cli-conn-" : "commander-conn-",
                                                   number.substr(1))}};
      }
    const ConnectionNumber connection = number_of(words.word());
    if (words.take("closes")) return Closed{connection};
    if (words.take("asks:"))
      return DryRunAsked{connection, {std::get<UpdateStateRequest>(read_request(words).content)}};
    return Received{connection, read_message(words)};
  }

  HookAnswer read_hook_answer(Words& words) {
    if (words.take("changed nothing")) return HookUnchanged{};
    if (words.take("vetoed:")) return HookVeto{words.rest()};
    if (words.take("failed:")) return HookFailed{words.rest()};
    if (words.take("cannot be read:")) return HookUnreadable{words.rest()};
    if (!words.take("made")) words.misread("an answer of a hook");
    HookChanged changed;
    while (!words.empty()) {
      const std::string word = words.word();
      auto [workload, instance] = read_workload(word.substr(1));
      if (word.front() == '+')
        changed.lists.added.push_back(WorkloadSpec::unchecked(instance, std::move(workload)));
      else
        changed.lists.deleted.push_back({instance, {}});
    }
    return changed;
  }

  ToServer read_message(Words& words) {
    if (words.take("goodbye")) return Goodbye{};
    if (words.take("hello again")) return AgentHello{"A", "1.1.0", {}};
    if (words.take("commander hello again")) return CommanderHello{"1.1.0"};
    if (words.take("sends log lines")) {
      LinkLogEntries lines;
      if (!words.empty()) lines.request_id = words.word();
      return lines;
    }
    if (words.take("ends log lines")) {
      LinkLogsStop stop;
      if (!words.empty()) stop.request_id = words.word();
      if (!words.empty()) stop.stop.instance = read_workload(words.word()).second;
      return stop;
    }
    if (words.take("load")) {
      const std::string agent = words.word();
      const auto cpu = static_cast<std::uint32_t>(std::stoul(words.word()));
      return AgentLoadStatus{agent, {cpu, std::stoull(words.word())}};
    }
    if (words.take("reports")) {
      UpdateWorkloadState states;
      const std::string text = words.rest();
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find("; ", begin), text.size());
        Words report(text.substr(begin, end - begin));
        const InstanceName instance = read_workload(report.word()).second;
        states.states.push_back({instance, scenario::execution_state_of(report.rest())});
        begin = end + 2;
      }
      return states;
    }
    return read_request(words);
  }

  Request read_request(Words& words) {
    const auto update = [&](std::string mask, Tree new_state) {
      return UpdateStateRequest{std::move(new_state), {std::move(mask)}};
    };
    if (words.take("replaces")) {
      const std::string id = words.word();
      return {id,
              UpdateStateRequest{Tree::Map().set("desiredState", read_state(words).to_tree()), {}}};
    }
    if (words.take("sets")) {
      const std::string id = words.word();
      const State state = read_state(words);
      std::string name;
      state.workloads.for_each([&](const std::string& key, const Tree&) { name = key; });
      return {id, update("desiredState.workloads." + name,
                         Tree::Map().set("desiredState", state.to_tree()))};
    }
    if (words.take("deletes")) {
      const std::string id = words.word();
      return {id, update("desiredState.workloads." + words.rest(), Tree::Map())};
    }
    if (words.take("version")) {
      const std::string id = words.word();
      return {id,
              update("desiredState.apiVersion",
                     Tree::Map().set("desiredState", Tree::Map().set("apiVersion", words.rest())))};
    }
    if (words.take("tags")) {
      const std::string id = words.word();
      const std::string agent = words.word();
      Tree::Map tags;
      for (const auto& [key, value] : read_tags(words)) tags = tags.set(key, value);
      return {id, update(concat("agents.", agent, ".tags"),
                         Tree::Map().set("agents",
                                         Tree::Map().set(agent, Tree::Map().set("tags", tags))))};
    }
    if (words.take("reads")) {
      Request request{words.empty() ? "" : words.word(), CompleteStateRequest{}};
      while (!words.empty())
        std::get<CompleteStateRequest>(request.content).field_masks.push_back(words.word());
      return request;
    }
    if (words.take("subscribes")) return {words.word(), CompleteStateRequest{{}, true}};
    if (words.take("unsubscribes")) return {words.word(), EventsCancelRequest{}};
    if (words.take("logs")) {
      const std::string id = words.word();
      LogsRequest request;
      while (!words.empty()) request.instances.push_back(read_workload(words.word()).second);
      return {id, request};
    }
    if (words.take("stops logs")) return {words.word(), LogsCancelRequest{}};
    words.misread("an event of the server");
  }

  static ConnectionNumber number_of(const std::string& word) { return std::stoull(word.substr(1)); }

  State read_state(Words& words) {
    State state;
    while (!words.empty()) {
      const std::string word = words.word();
      state.workloads =
          state.workloads.set(word.substr(0, word.find('@')), read_workload(word).first);
    }
    return state;
  }

  static Tags read_tags(Words& words) {
    Tags tags;
    while (!words.empty()) {
      const std::string tag = words.word();
      tags[tag.substr(0, tag.find('='))] = tag.substr(tag.find('=') + 1);
    }
    return tags;
  }

  std::pair<WorkloadPtr, InstanceName> read_workload(const std::string& word) {
    const std::size_t at = word.find('@');
    const std::size_t colon = word.find(':', at);
    const std::size_t bracket = std::min(word.find('['), word.size());
    auto workload = std::make_shared<Workload>();
    workload->agent = word.substr(at + 1, colon - at - 1);
    workload->runtime = "podman";
    const std::size_t end = std::min(word.find_first_of("[<"), word.size());
    workload->runtime_config = word.substr(colon + 1, end - colon - 1);
    if (bracket < word.size())
      workload->tags.edit()["tag"] = word.substr(bracket + 1, word.find(']') - bracket - 1);
    for (std::size_t mark = word.find('<'); mark != std::string::npos;
         mark = word.find('<', mark + 1))
      workload->dependencies.edit()[word.substr(mark + 1, word.find('<', mark + 1) - mark - 1)] =
          AddCondition::kRunning;
    const InstanceName instance{WorkloadName{word.substr(0, at)},
                                workload_id_of(workload->runtime_config),
                                AgentName{workload->agent}};
    configs_[instance.id.value] = workload->runtime_config;
    return {std::move(workload), instance};
  }

  [[nodiscard]] std::string with_configs(std::string text) const {
    for (const auto& [id, config] : configs_)
      for (std::size_t at = text.find(id); at != std::string::npos; at = text.find(id))
        text.replace(at, id.size(), config);
    return text;
  }

  ServerMachine machine_;
  std::map<std::string, std::string> configs_;  // by id
  std::vector<Token> loads_;
  std::vector<Token> hooks_;
  std::vector<Token> commits_;
  std::vector<Token> timers_;
};

class ServerScenario : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ServerScenario, GoesAsWritten) {
  Player player;
  scenario::play(GetParam(), std::ref(player));
}

INSTANTIATE_TEST_SUITE_P(Story, ServerScenario, testing::ValuesIn(scenario::files_of("server")),
                         [](const auto& test) { return scenario::name_of(test.param); });

}  // namespace
}  // namespace tiphys::server
