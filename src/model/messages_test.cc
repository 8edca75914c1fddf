#include "model/messages.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tiphys {
namespace {

WorkloadSpecPtr spec_of(std::string_view name, const std::string& runtime_config) {
  Workload workload;
  workload.runtime_config = runtime_config;
  return WorkloadSpec::make(name, std::make_shared<const Workload>(workload)).value();
}

TEST(ServerHello, EqualsOneWithTheSameWorkloads) {
  const WorkloadSpecPtr shared = spec_of("a", "1");
  EXPECT_EQ((ServerHello{{shared, spec_of("b", "2")}}), (ServerHello{{shared, spec_of("b", "2")}}));
  for (const ServerHello& other :
       {ServerHello{}, ServerHello{{shared}}, ServerHello{{shared, spec_of("b", "3")}},
        ServerHello{{spec_of("b", "2"), shared}}})
    EXPECT_FALSE((ServerHello{{shared, spec_of("b", "2")}}) == other);
}

TEST(UpdateWorkload, EqualsOneWithTheSameAddedAndDeletedWorkloads) {
  const DeletedWorkload deleted{{{"b"}, {"2"}, {"x"}}, {}};
  const UpdateWorkload update{{spec_of("a", "1")}, {deleted}};
  EXPECT_EQ(update, (UpdateWorkload{{spec_of("a", "1")}, {deleted}}));
  EXPECT_FALSE(update == (UpdateWorkload{{spec_of("a", "1")}, {}}));
  EXPECT_FALSE(update == (UpdateWorkload{{}, {deleted}}));
}

// One message of every kind, no two of them equal.
const std::vector<ToServer> kToServer{
    AgentHello{"a", "1.0.0", {}},
    AgentHello{"a", "1.0.0", {{"zone", "z"}}},
    UpdateWorkloadState{{{{{"w"}, {"1"}, {"a"}}, ExecutionState(Phase::kRunningOk)}}},
    UpdateWorkloadState{},
    Request{"id", UpdateStateRequest{Tree::Map().set("a", "b"), {"a"}}},
    Request{"id", UpdateStateRequest{Tree::Map().set("a", "c"), {"a"}}},
    Request{"id", CompleteStateRequest{{"a"}, false}},
    Request{"id", CompleteStateRequest{{"a"}, true}},
    Request{"id", LogsRequest{}},
    Request{"id", LogsRequest{{}, true, -1, "since", "until"}},
    Request{"id", LogsCancelRequest{}},
    Request{"id", EventsCancelRequest{}},
    Request{"other", EventsCancelRequest{}},
    Goodbye{},
    AgentLoadStatus{"a", {1, 2}},
    CommanderHello{"1.0.0"},
    LinkLogEntries{"id", {{{{{"w"}, {"1"}, {"a"}}, "line"}}}},
    LinkLogsStop{"id", {{{"w"}, {"1"}, {"a"}}}},
};

const std::vector<FromServer> kFromServer{
    UpdateWorkload{},
    UpdateWorkloadState{},
    Response{"id", ErrorResponse{"no"}},
    Response{"id", CompleteStateResponse{Tree::Map(), std::nullopt}},
    Response{"id", CompleteStateResponse{Tree::Map(), AlteredFields{{"a"}, {"b"}, {"c"}}}},
    Response{"id", UpdateStateSuccess{{"a"}, {"b"}}},
    Response{"id", LogsRequestAccepted{{{{"w"}, {"1"}, {"a"}}}}},
    Response{"id", LogEntriesResponse{}},
    Response{"id", LogsStopResponse{}},
    Response{"id", LogsCancelAccepted{}},
    Response{"id", EventsCancelAccepted{}},
    ServerHello{},
    LinkLogsRequest{"id", LogsRequest{}},
    LinkLogsCancel{"id"},
};

const std::vector<ToAnkaios> kToAnkaios{ControlInterfaceHello{"1.0.0"},
                                        Request{"id", CompleteStateRequest{}}};
const std::vector<FromAnkaios> kFromAnkaios{Response{"id", ErrorResponse{"no"}},
                                            ControlInterfaceAccepted{}, ConnectionClosed{"why"}};

template <class Message>
void expect_each_equals_only_itself(const std::vector<Message>& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i)
    for (std::size_t k = 0; k < messages.size(); ++k)
      EXPECT_EQ(messages[i] == messages[k], i == k) << i << ' ' << k;
}

TEST(Messages, EqualOnlyThemselves) {
  expect_each_equals_only_itself(kToServer);
  expect_each_equals_only_itself(kFromServer);
  expect_each_equals_only_itself(kToAnkaios);
  expect_each_equals_only_itself(kFromAnkaios);
}

template <class Message>
std::vector<std::string> summaries(const std::vector<Message>& messages) {
  std::vector<std::string> texts;
  texts.reserve(messages.size());
  for (const auto& message : messages) texts.push_back(summary(message));
  return texts;
}

TEST(Messages, ToTheServerAreSummedUpInALine) {
  EXPECT_EQ(summaries(kToServer),
            (std::vector<std::string>{
                "AgentHello a", "AgentHello a", "UpdateWorkloadState w.1.a=Running(Ok)",
                "UpdateWorkloadState", "UpdateStateRequest id a", "UpdateStateRequest id a",
                "CompleteStateRequest id a", "CompleteStateRequest id a", "LogsRequest id",
                "LogsRequest id", "LogsCancelRequest id", "EventsCancelRequest id",
                "EventsCancelRequest other", "Goodbye", "AgentLoadStatus a", "CommanderHello",
                "LogEntriesResponse id", "LogsStopResponse id w.1.a"}));
}

TEST(Messages, FromTheServerAreSummedUpInALine) {
  EXPECT_EQ(summaries(kFromServer),
            (std::vector<std::string>{
                "UpdateWorkload", "UpdateWorkloadState", "Error id: no", "CompleteStateResponse id",
                "CompleteStateResponse id", "UpdateStateSuccess id +[a] -[b]",
                "LogsRequestAccepted id w.1.a", "LogEntriesResponse id", "LogsStopResponse id ..",
                "LogsCancelAccepted id", "EventsCancelAccepted id", "ServerHello", "LogsRequest id",
                "LogsCancelRequest id"}));
}

TEST(Messages, AreSummedUpWithTheInstancesTheyName) {
  const WorkloadSpecPtr spec = spec_of("w", "1");
  const std::string name = to_string(spec->instance());
  EXPECT_EQ(summary(FromServer(ServerHello{{spec}})), "ServerHello +" + name);
  EXPECT_EQ(summary(FromServer(UpdateWorkload{{spec}, {{{{"v"}, {"2"}, {"a"}}, {}}}})),
            "UpdateWorkload -v.2.a +" + name);
}

}  // namespace
}  // namespace tiphys
