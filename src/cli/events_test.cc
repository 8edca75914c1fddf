#include "cli/events.h"

#include <gtest/gtest.h>

#include <regex>

#include "cli/ank.h"
#include "cli/test_console.h"
#include "cli/test_server.h"

namespace tiphys::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::chrono::system_clock::time_point kTime =
    std::chrono::system_clock::time_point(std::chrono::seconds(1769860800)) +
    std::chrono::nanoseconds(1234567);

Tree state_with(const std::string& key) {
  return Tree::Map().set(
      "desiredState",
      Tree::Map().set("apiVersion", "v1").set("configs", Tree::Map().set(key, "x")));
}

std::string without_times(const std::string& text) {
  static const std::regex kTimes("[0-9]{4}-[0-9-]+T[0-9:]+\\.[0-9]{9}\\+00:00");
  return std::regex_replace(text, kTimes, "TIME");
}

struct Outcome {
  int exit;
  std::string out;
  std::string err;
};

Outcome events(const ScriptedServer& server, Words words, Words options = {}) {
  RecordingConsole console;
  words.insert(words.begin(), {"get", "events"});
  options.insert(options.end(), {"-k", "-s", server.url()});
  words.insert(words.begin(), options.begin(), options.end());
  const int exit = run_ank(words, {{"HOME", "/nowhere"}}, console);
  return {exit, without_times(console.out), console.err};
}

// Three events, one that is for somebody else, and then the end.
Script eventful(std::function<void(Visitor&, const Request&)> end) {
  Script script;
  script.on_request = [end = std::move(end)](Visitor& visitor, const Request& request) {
    const auto tell = [&](CompleteStateResponse event) {
      visitor.send(Response{request.id, std::move(event)});
    };
    tell({state_with("first"), {}});
    tell({state_with("second"), AlteredFields{{"a.b"}, {"c", "d"}, {"e"}}});
    tell({Tree(), AlteredFields{}});
    visitor.send(Response{"of another", CompleteStateResponse{state_with("other"), {}}});
    visitor.send(UpdateWorkloadState{});
    tell({Tree::Map(), {}});
    end(visitor, request);
  };
  return script;
}

void end_stream(Visitor& visitor, const Request&) { visitor.end({}); }

TEST(Events, AreDocumentsOfYaml) {
  EXPECT_EQ(
      event_text({state_with("k"), AlteredFields{{"a.b"}, {}, {"e"}}}, kTime, OutputFormat::kYaml),
      "---\n"
      "timestamp: 2026-01-31T12:00:00.001234567+00:00\n"
      "addedFields:\n"
      "- a.b\n"
      "removedFields:\n"
      "- e\n"
      "completeState:\n"
      "  desiredState:\n"
      "    apiVersion: v1\n"
      "    configs:\n"
      "      k: x\n");
  EXPECT_EQ(event_text({Tree(), {}}, kTime, OutputFormat::kYaml),
            "---\ntimestamp: 2026-01-31T12:00:00.001234567+00:00\ncompleteState: {}\n");
}

TEST(Events, AreLinesOfJson) {
  EXPECT_EQ(
      event_text({state_with("k"), AlteredFields{{"a"}, {"b"}, {"c"}}}, kTime, OutputFormat::kJson),
      R"({"timestamp":"2026-01-31T12:00:00.001234567+00:00","addedFields":["a"],)"
      R"("updatedFields":["b"],"removedFields":["c"],)"
      R"("completeState":{"desiredState":{"apiVersion":"v1","configs":{"k":"x"}}}})"
      "\n");
}

TEST(Events, AreShownUntilTheStreamBreaks) {
  const ScriptedServer server(eventful(end_stream));
  const Outcome outcome = events(server, {"-o", "json", "desiredState"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out,
            R"({"timestamp":"TIME","addedFields":["a.b"],"updatedFields":["c","d"],)"
            R"("removedFields":["e"],)"
            R"("completeState":{"desiredState":{"apiVersion":"v1","configs":{"second":"x"}}}})"
            "\n"
            R"({"timestamp":"TIME","completeState":{}})"
            "\n"
            R"({"timestamp":"TIME","completeState":{}})"
            "\n");
  EXPECT_EQ(outcome.err,
            "error: Failed to get events: 'Command failed: 'Connection to server interrupted''\n");
  const auto heard = server.heard();
  ASSERT_EQ(heard.size(), 1U) << "no goodbye after an error";
  EXPECT_EQ(std::get<CompleteStateRequest>(std::get<Request>(heard[0]).content),
            (CompleteStateRequest{{"desiredState"}, true}));
}

TEST(Events, BeginWithTheCurrentStateWhenAskedTo) {
  const ScriptedServer server(eventful(end_stream));
  const Outcome outcome = events(server, {"-c"});
  EXPECT_TRUE(
      outcome.out.starts_with("---\n"
                              "timestamp: TIME\n"
                              "completeState:\n"
                              "  desiredState:\n"
                              "    apiVersion: v1\n"
                              "    configs:\n"
                              "      first: x\n"
                              "---\n"
                              "timestamp: TIME\n"
                              "addedFields:\n"))
      << outcome.out;
}

TEST(Events, AreNotShownWhenQuiet) {
  const ScriptedServer server(eventful(end_stream));
  const Outcome outcome = events(server, {"-c"}, {"-q"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.exit, 1);
}

TEST(Events, EndWithAnErrorOfTheServer) {
  const ScriptedServer server(eventful([](Visitor& visitor, const Request& request) {
    visitor.send(Response{request.id, ErrorResponse{"stopped"}});
  }));
  const Outcome outcome = events(server, {});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(
      outcome.err,
      "error: Failed to get events: 'Command failed: 'Event subscription failed: 'stopped'''\n");
}

TEST(Events, ShowAnErrorAtOnceInsteadOfATimeOut) {
  Script script;
  script.on_request = [](Visitor& visitor, const Request& request) {
    visitor.send(Response{request.id, ErrorResponse{"no"}});
  };
  const ScriptedServer server(script);
  const Outcome outcome = events(server, {});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.err,
            "error: Failed to get events: 'Command failed: 'Event subscription failed: 'no'''\n");
}

TEST(Events, NeedAFirstAnswer) {
  Script ending;
  ending.on_request = end_stream;
  EXPECT_EQ(events(ScriptedServer(ending), {}).err,
            "error: Failed to get events: 'Command failed: 'Channel preliminary closed.''\n");
  const Outcome silent = events(ScriptedServer(Script{}), {}, {"--response-timeout", "50"});
  EXPECT_EQ(silent.exit, 1);
  EXPECT_EQ(silent.err,
            "error: Failed to get events: 'Command failed: 'Command timed out after '50ms'''\n");
}

}  // namespace
}  // namespace tiphys::cli
