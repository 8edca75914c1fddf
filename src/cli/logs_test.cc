#include "cli/logs.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cli/ank.h"
#include "cli/test_console.h"
#include "cli/test_server.h"

namespace tiphys::cli {
namespace {

using Words = std::vector<std::string>;

const InstanceName kOnA{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}};
const InstanceName kOnB{WorkloadName{"w"}, WorkloadId{"2"}, AgentName{"b"}};
const InstanceName kOther{WorkloadName{"v"}, WorkloadId{"3"}, AgentName{"a"}};

Tree states() {
  WorkloadStates known;
  for (const auto& instance : {kOnA, kOnB, kOther})
    known.update({instance, ExecutionState(Phase::kRunningOk)});
  return Tree::Map().set("workloadStates", known.tree());
}

struct Outcome {
  int exit;
  std::string out;
  std::string err;
};

Outcome logs(const ScriptedServer& server, Words words, Words options = {}) {
  RecordingConsole console;
  words.insert(words.begin(), "logs");
  options.insert(options.end(), {"-k", "-s", server.url()});
  words.insert(words.begin(), options.begin(), options.end());
  const int exit = run_ank(words, {{"HOME", "/nowhere"}}, console);
  return {exit, console.out, console.err};
}

using Answering = std::function<void(Visitor&, const std::string& id, const LogsRequest&)>;

// Knows the three instances; what it does with a request for logs is up to the test.
Script knowing(Answering answer) {
  Script script;
  script.on_request = [answer = std::move(answer)](Visitor& visitor, const Request& request) {
    if (std::holds_alternative<CompleteStateRequest>(request.content))
      visitor.send(Response{request.id, CompleteStateResponse{states(), {}}});
    else if (const auto* wanted = std::get_if<LogsRequest>(&request.content))
      answer(visitor, request.id, *wanted);
  };
  return script;
}

// Accepts everything, says a line for each instance and stops.
Script talking() {
  return knowing([](Visitor& visitor, const std::string& id, const LogsRequest& wanted) {
    visitor.send(Response{id, LogsRequestAccepted{wanted.instances}});
    for (const auto& instance : wanted.instances) {
      visitor.send(Response{"other", LogEntriesResponse{{{instance, "of another request"}}}});
      visitor.send(Response{id, LogEntriesResponse{{{instance, concat("on ", instance.agent.value)},
                                                    {instance, ""}}}});
      visitor.send(Response{id, LogsStopResponse{instance}});
    }
  });
}

LogsRequest request_in(const ToServer& message) {
  return std::get<LogsRequest>(std::get<Request>(message).content);
}

std::string logs_error(const std::string& text) {
  return concat(
      "error: Failed to output logs: 'Command failed: 'Failed to get logs: "
      "'ExecutionError(\"",
      text, "\")'''\n");
}

TEST(Logs, OfOneInstanceAreJustItsLines) {
  const ScriptedServer server(talking());
  const Outcome outcome = logs(server, {"v", "v"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "on a\n\n");
  const auto heard = server.heard();
  ASSERT_EQ(heard.size(), 3U);  // state, logs, goodbye
  EXPECT_EQ(std::get<CompleteStateRequest>(std::get<Request>(heard[0]).content).field_masks,
            (Words{"workloadStates"}));
  EXPECT_EQ(request_in(heard[1]), (LogsRequest{{kOther}, {}, {}, {}, {}}));
  EXPECT_TRUE(std::holds_alternative<Goodbye>(heard[2]));
}

TEST(Logs, OfSeveralInstancesBeginWithTheNameOfTheWorkload) {
  const ScriptedServer server(talking());
  EXPECT_EQ(logs(server, {"w"}).out, "w on a\nw \nw on b\nw \n") << "two agents";
  EXPECT_EQ(logs(server, {"v", "w"}, {"-q"}).out, "v on a\nv \nw on a\nw \nw on b\nw \n");
  EXPECT_EQ(logs(server, {"-n", "v"}).out, "v on a\nv \n");
}

TEST(Logs, PassOnWhatIsAskedFor) {
  const ScriptedServer server(talking());
  EXPECT_EQ(logs(server, {"-f", "-t", "5", "-s", "then", "-u", "now", "v"}).exit, 0);
  EXPECT_EQ(request_in(server.heard().at(1)), (LogsRequest{{kOther}, true, 5, "then", "now"}));
  EXPECT_EQ(logs(server, {"--tail=-7", "v"}).exit, 0);
  EXPECT_EQ(request_in(server.heard().at(4)), (LogsRequest{{kOther}, {}, {}, {}, {}}));
}

TEST(Logs, OfAWorkloadThatDoesNotExistAreAnError) {
  const ScriptedServer server(talking());
  const Outcome outcome = logs(server, {"w", "nobody"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(
      outcome.err,
      "error: Failed to output logs: 'Command failed: 'Workload name 'nobody' does not exist.''\n");
  EXPECT_EQ(server.heard().size(), 1U);
  Script stateless;
  stateless.on_request = [](Visitor& visitor, const Request& request) {
    visitor.send(Response{request.id, CompleteStateResponse{Tree::Map(), {}}});
  };
  EXPECT_EQ(logs(ScriptedServer(stateless), {"w"}).err,
            "error: Failed to output logs: 'Command failed: 'No workload states available to "
            "convert workload names to instance names.''\n");
}

TEST(Logs, ThatTheServerDoesNotAcceptAreAnError) {
  const ScriptedServer refusing(
      knowing([](Visitor& visitor, const std::string& id, const LogsRequest&) {
        visitor.send(Response{id, ErrorResponse{"no \"logs\"\nfor\tyou\x1b"}});
      }));
  const Outcome outcome = logs(refusing, {"w"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.err, logs_error(R"(Server replied with error: 'no \"logs\"\nfor\tyou\u{1b}')"));
  const ScriptedServer choosing(
      knowing([](Visitor& visitor, const std::string& id, const LogsRequest&) {
        visitor.send(Response{id, LogsRequestAccepted{{kOnA}}});
      }));
  EXPECT_EQ(logs(choosing, {"w"}).err,
            logs_error("Workload 'w' is not accepted by the server to receive logs from."));
}

TEST(Logs, ThatNobodyAnswersTimeOut) {
  const ScriptedServer silent(knowing([](Visitor&, const std::string&, const LogsRequest&) {}));
  EXPECT_EQ(logs(silent, {"w"}, {"--response-timeout", "50"}).err,
            logs_error("Command timed out after '50ms'"));
}

TEST(Logs, ThatBreakOffAreAnError) {
  for (const bool accepts : {true, false}) {
    const ScriptedServer ending(
        knowing([accepts](Visitor& visitor, const std::string& id, const LogsRequest& wanted) {
          if (accepts) visitor.send(Response{id, LogsRequestAccepted{wanted.instances}});
          if (accepts) visitor.send(Response{id, LogEntriesResponse{{{kOther, "a line"}}}});
          visitor.end({});
        }));
    const Outcome outcome = logs(ending, {"v"});
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_EQ(outcome.out, accepts ? "a line\n" : "");
    EXPECT_EQ(outcome.err,
              logs_error("Error streaming workload logs: channel preliminary closed."));
    EXPECT_EQ(ending.heard().size(), 2U) << "no goodbye after an error";
  }
}

TEST(Logs, EndWithAnErrorThatComesLater) {
  const ScriptedServer failing(
      knowing([](Visitor& visitor, const std::string& id, const LogsRequest& wanted) {
        visitor.send(Response{id, LogsRequestAccepted{wanted.instances}});
        visitor.send(Response{id, LogEntriesResponse{{{kOther, "a line"}}}});
        visitor.send(Response{id, ErrorResponse{"broken off"}});
      }));
  const Outcome outcome = logs(failing, {"v"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "a line\n");
  EXPECT_EQ(outcome.err, logs_error("Error streaming logs: 'broken off'"));
}

TEST(Logs, OfAnInstanceThatHasStoppedAreStillShown) {
  const ScriptedServer server(
      knowing([](Visitor& visitor, const std::string& id, const LogsRequest& wanted) {
        visitor.send(Response{id, LogsRequestAccepted{wanted.instances}});
        visitor.send(Response{id, LogsStopResponse{kOnA}});
        visitor.send(Response{id, LogEntriesResponse{{{kOnA, "late"}}}});
        visitor.send(Response{id, LogsStopResponse{kOnA}});
        visitor.send(Response{id, LogsStopResponse{kOnB}});
      }));
  const Outcome outcome = logs(server, {"-f", "w"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "w late\n");
}

TEST(Logs, TellWhatHappensWhenAskedTo) {
  const ScriptedServer server(talking());
  const std::string out = logs(server, {"v"}, {"-v"}).out;
  EXPECT_NE(out.find("debug: Asking for the logs of 1 instance(s)\non a\n\n"), std::string::npos)
      << out;
  EXPECT_TRUE(out.ends_with("debug: There are no more logs to come\n")) << out;
}

}  // namespace
}  // namespace tiphys::cli
