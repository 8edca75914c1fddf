#include "core/agent/control_interfaces.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace tiphys::agent {
namespace {

using Lines = std::vector<std::string>;

const AccessRule kReadAll = StateRule{Operation::kRead, {"*"}};
const AccessRule kWriteAll = StateRule{Operation::kWrite, {"*"}};
const AccessRule kLogsOfAll = LogRule{{"*"}};

InstanceName instance(const std::string& name, const std::string& id) {
  return {WorkloadName{name}, WorkloadId{id}, AgentName{"A"}};
}

WorkloadSpecPtr spec(const std::string& name, const std::string& id, std::vector<AccessRule> allow,
                     std::vector<AccessRule> deny = {}) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "A";
  workload->runtime = "podman";
  workload->access.edit() = {std::move(allow), std::move(deny)};
  return WorkloadSpec::received(instance(name, id), std::move(workload)).value();
}

Said hello(const std::string& version = "1.0.0") { return {ControlInterfaceHello{version}, 9}; }
Said ask(const std::string& id, std::vector<std::string> masks = {}) {
  return {Request{id, CompleteStateRequest{std::move(masks), false}}, 10};
}
Response error(const std::string& id, const std::string& text = "no") {
  return {id, ErrorResponse{text}};
}
Response entries(const std::string& id, const std::string& text = "line") {
  return {id, LogEntriesResponse{{{instance("x", "1"), text}}}};
}

Lines lines(const InterfaceEffects& effects) {
  Lines texts;
  for (const auto& effect : effects) texts.push_back(to_string(effect));
  return texts;
}

template <class T>
std::vector<T> all(const InterfaceEffects& effects) {
  std::vector<T> found;
  for (const auto& effect : effects)
    if (const auto* e = std::get_if<T>(&effect)) found.push_back(*e);
  return found;
}

class ControlInterfacesTest : public testing::Test {
 protected:
  // Opens the interface of workload web, its number is 1.
  void open(std::vector<AccessRule> allow = {kReadAll, kLogsOfAll}) {
    (void)interfaces.connected();
    ASSERT_EQ(lines(interfaces.equip(*spec("web", "1", std::move(allow)))),
              Lines{"open interface 1 of web.1.A"});
  }
  void accept() {
    ASSERT_EQ(lines(interfaces.told(1, hello())),
              (Lines{"tell interface 1: accepted", "read on interface 1"}));
  }
  // The last message that goes to a workload.
  static FromAnkaios sent(const InterfaceEffects& effects) {
    return all<SendToWorkload>(effects).at(0).message;
  }

  ControlInterfaces interfaces;
};

// -- Which workload has one

// [utest->swdd~agent-create-control-interface-pipes-per-workload~1]
TEST_F(ControlInterfacesTest, OnlyAWorkloadWithAllowRulesGetsOne) {
  EXPECT_TRUE(interfaces.equip(*spec("plain", "1", {})).empty());
  EXPECT_TRUE(interfaces.equip(*spec("denied", "1", {}, {kReadAll})).empty());
  EXPECT_EQ(lines(interfaces.equip(*spec("nothing", "1", {StateRule{Operation::kNothing, {"*"}}}))),
            Lines{"open interface 1 of nothing.1.A"});
  EXPECT_EQ(lines(interfaces.equip(*spec("logs", "1", {kLogsOfAll}))),
            Lines{"open interface 2 of logs.1.A"});
}

// [utest->swdd~agent-workload-obj-update-command~1]
TEST_F(ControlInterfacesTest, AnUpdateReplacesItOnlyWhenFolderOrRulesChange) {
  open({kReadAll});
  EXPECT_TRUE(interfaces.equip(*spec("web", "1", {kReadAll})).empty()) << "kept";
  EXPECT_EQ(lines(interfaces.equip(*spec("web", "1", {kReadAll, kLogsOfAll}))),
            (Lines{"close interface 1", "open interface 2 of web.1.A"}));
  EXPECT_EQ(lines(interfaces.equip(*spec("web", "1", {kReadAll, kLogsOfAll}, {kWriteAll}))),
            (Lines{"close interface 2", "open interface 3 of web.1.A"}));
  EXPECT_EQ(lines(interfaces.equip(*spec("web", "2", {kReadAll, kLogsOfAll}, {kWriteAll}))),
            (Lines{"close interface 3", "open interface 4 of web.2.A"}));
  EXPECT_EQ(lines(interfaces.equip(*spec("web", "2", {}))), Lines{"close interface 4"});
  EXPECT_TRUE(interfaces.equip(*spec("web", "2", {})).empty());
}

// [utest->swdd~agent-workload-obj-delete-command~1]
TEST_F(ControlInterfacesTest, ADeletionDropsIt) {
  open();
  EXPECT_EQ(lines(interfaces.drop(WorkloadName{"web"})), Lines{"close interface 1"});
  EXPECT_TRUE(interfaces.drop(WorkloadName{"web"}).empty());
  EXPECT_TRUE(interfaces.told(1, hello()).empty()) << "what was under way counts no more";
  EXPECT_EQ(all<Complain>(interfaces.respond(error("web@r"))).size(), 1U);
}

TEST_F(ControlInterfacesTest, AnInterfaceThatCannotBeOpenedIsTriedAgainByTheNextUpdate) {
  open();
  EXPECT_EQ(lines(interfaces.told(1, NotOpened{"no space"})),
            Lines{"complain Workload 'web' gets no control interface: no space"});
  EXPECT_EQ(lines(interfaces.equip(*spec("web", "1", {kReadAll, kLogsOfAll}))),
            Lines{"open interface 2 of web.1.A"});
}

// -- Handshake

TEST_F(ControlInterfacesTest, AnswersEveryHelloThatItUnderstands) {
  open();
  for (const std::string version : {"1.0.0", "1.99.7", "1.1.0-pre"})
    EXPECT_EQ(lines(interfaces.told(1, hello(version))),
              (Lines{"tell interface 1: accepted", "read on interface 1"}));
}

TEST_F(ControlInterfacesTest, AnotherVersionClosesIt) {
  for (const std::string version : {"", "1", "1.1", "v1.0.0", "1.0.0.0", "2.0.0", "abc"})
    for (const bool first : {true, false}) {
      interfaces = {};
      open();
      if (!first) accept();
      EXPECT_EQ(std::get<ConnectionClosed>(sent(interfaces.told(1, hello(version)))).reason,
                concat("Unsupported protocol version '", version, "'. Currently supported '1'"));
      EXPECT_TRUE(interfaces.told(1, hello()).empty()) << "it is closed";
    }
}

TEST_F(ControlInterfacesTest, AnythingElseThanAHelloFirstClosesIt) {
  struct Case {
    InterfaceEvent first;
    std::string reason;
  };
  for (const auto& [first, reason] :
       std::vector<Case>{{ask("r"), "Initial Hello missing!"},
                         {Unusable{{}, {}}, "Initial Hello missing!"},
                         {Unusable{"r", {}}, "Initial Hello missing!"},
                         {Garbled{"no message"}, "Could not decode protobuf data"}}) {
    interfaces = {};
    open();
    EXPECT_EQ(lines(interfaces.told(1, first)),
              (Lines{"complain Workload 'web': its control interface is closed: " + reason,
                     "tell interface 1: closed: " + reason, "stop reading interface 1"}));
  }
}

TEST_F(ControlInterfacesTest, AClosedOneComesBackOnlyAsAnother) {
  open();
  (void)interfaces.told(1, ask("r"));
  EXPECT_TRUE(interfaces.equip(*spec("web", "1", {kReadAll, kLogsOfAll})).empty());
  EXPECT_TRUE(interfaces.told(1, hello()).empty());
  EXPECT_TRUE(all<SendToWorkload>(interfaces.respond(error("web@r"))).empty());
  EXPECT_EQ(lines(interfaces.equip(*spec("web", "2", {kReadAll, kLogsOfAll}))),
            (Lines{"close interface 1", "open interface 2 of web.2.A"}));
  EXPECT_EQ(lines(interfaces.told(2, hello())),
            (Lines{"tell interface 2: accepted", "read on interface 2"}));
}

TEST_F(ControlInterfacesTest, AnAcceptanceThatNobodyTakesClosesIt) {
  open();
  accept();
  EXPECT_EQ(all<StopReading>(interfaces.told(1, Undelivered{Parcel::kAcceptance, {}})).size(), 1U);
  EXPECT_TRUE(interfaces.told(1, hello()).empty());
  EXPECT_TRUE(interfaces.told(1, Undelivered{Parcel::kAcceptance, {}}).empty());
}

// -- Requests

// [utest->swdd~agent-listens-for-requests-from-pipe~1]
// [utest->swdd~agent-forward-request-from-control-interface-pipe-to-server~1]
// [utest->swdd~agent-adds-workload-prefix-id-control-interface-request~1]
TEST_F(ControlInterfacesTest, ForwardsWhatTheRulesAllow) {
  open();
  accept();
  for (const std::string id : {"r", "", "a@b", "@"}) {
    const auto effects = interfaces.told(1, ask(id));
    const auto forwarded = all<Forward>(effects);
    ASSERT_EQ(forwarded.size(), 1U);
    EXPECT_EQ(forwarded[0].request, (Request{"web@" + id, CompleteStateRequest{}}));
    EXPECT_EQ(lines(effects).back(), "read on interface 1");
  }
}

TEST_F(ControlInterfacesTest, DeniesTheRest) {
  open({StateRule{Operation::kRead, {"desiredState"}}});
  accept();
  for (const InterfaceEvent& event : std::vector<InterfaceEvent>{
           ask("r", {"agents"}), ask("r"), Unusable{"r", {}},
           Said{Request{"r", UpdateStateRequest{Tree(Tree::Map()), {"desiredState"}}}, 1}}) {
    const auto effects = interfaces.told(1, event);
    EXPECT_EQ(std::get<Response>(sent(effects)), error("r", "Access denied"));
    EXPECT_TRUE(all<Forward>(effects).empty());
    EXPECT_EQ(lines(effects).back(), "read on interface 1");
  }
}

TEST_F(ControlInterfacesTest, SaysWhatIsWrongWithARequest) {
  open();
  accept();
  EXPECT_EQ(std::get<Response>(sent(interfaces.told(1, Unusable{"r", "operation: unknown"}))),
            error("r", "operation: unknown"));
}

TEST_F(ControlInterfacesTest, GarbageAfterTheHelloIsIgnored) {
  open();
  accept();
  EXPECT_EQ(lines(interfaces.told(1, Garbled{"no message"})),
            (Lines{"complain Workload 'web': what it wrote is ignored: no message",
                   "read on interface 1"}));
  EXPECT_EQ(lines(interfaces.told(1, Unusable{})),
            (Lines{"complain Workload 'web': a message without content is ignored",
                   "read on interface 1"}));
  EXPECT_EQ(lines(interfaces.told(1, ask("r"))).back(), "read on interface 1");
}

TEST_F(ControlInterfacesTest, GarbageWithoutAnEndClosesIt) {
  open();
  accept();
  EXPECT_EQ(std::get<ConnectionClosed>(sent(interfaces.told(1, Garbled{"too long", true}))).reason,
            "Could not decode protobuf data");
}

TEST_F(ControlInterfacesTest, ComplainsEverLess) {
  open();
  accept();
  std::size_t complaints = 0;
  for (int i = 0; i < 1000; ++i)
    complaints += all<Complain>(interfaces.told(1, Garbled{"no message"})).size();
  EXPECT_EQ(complaints, 10U);
}

// -- Responses

// [utest->swdd~agent-forward-responses-to-control-interface-pipe~1]
// [utest->swdd~agent-uses-id-prefix-forward-control-interface-response-correct-workload~1]
// [utest->swdd~agent-remove-id-prefix-forwarding-control-interface-response~1]
TEST_F(ControlInterfacesTest, AResponseGoesToTheWorkloadThatItsIdNames) {
  open();
  accept();
  (void)interfaces.equip(*spec("db", "1", {kReadAll}));
  (void)interfaces.told(2, hello());
  const auto effects = interfaces.respond(error("db@a@b"));
  ASSERT_EQ(all<SendToWorkload>(effects).size(), 1U);
  EXPECT_EQ(all<SendToWorkload>(effects)[0].number, 2U);
  EXPECT_EQ(std::get<Response>(sent(effects)), error("a@b"));
  EXPECT_EQ(std::get<Response>(sent(interfaces.respond(error("web@")))), error(""));
  for (const std::string id : {"r", "", "@r", "other@r", "Web@r"})
    EXPECT_EQ(all<Complain>(interfaces.respond(error(id))).size(), 1U) << id;
}

TEST_F(ControlInterfacesTest, WhatComesBeforeTheHelloFollowsItsAnswer) {
  open();
  EXPECT_TRUE(interfaces.respond(error("web@1")).empty());
  EXPECT_TRUE(interfaces.respond(error("web@2")).empty());
  EXPECT_EQ(lines(interfaces.told(1, hello())),
            (Lines{"tell interface 1: accepted", "tell interface 1: Error 1: no",
                   "tell interface 1: Error 2: no", "read on interface 1"}));
  EXPECT_EQ(lines(interfaces.told(1, hello())),
            (Lines{"tell interface 1: accepted", "read on interface 1"}))
      << "once";
}

TEST_F(ControlInterfacesTest, NotTooMuchWaitsForAHello) {
  open();
  for (std::size_t i = 0; i < kMaxWaitingResponses + 10; ++i)
    (void)interfaces.respond(error("web@r"));
  EXPECT_EQ(all<SendToWorkload>(interfaces.told(1, hello())).size(), 1 + kMaxWaitingResponses);
}

TEST_F(ControlInterfacesTest, NotTooManyBytesWaitForAHello) {
  const std::string large(kMaxWaitingBytes / 4, 'x');
  open();
  EXPECT_TRUE(interfaces.respond(entries("web@1", std::string(kMaxWaitingBytes * 2, 'x'))).empty())
      << "a single one waits whatever its size";
  EXPECT_EQ(all<Forward>(interfaces.respond(entries("web@2", large))).size(), 1U);

  interfaces = {};
  open();
  const Tree state = Tree::Map().set("a", Tree(Tree::List{Tree(large)}));
  for (int i = 0; i < 10; ++i)
    (void)interfaces.respond({"web@r", CompleteStateResponse{state, {}}});
  EXPECT_EQ(all<SendToWorkload>(interfaces.told(1, hello())).size(), 1U + 3U);
}

// [utest->swdd~agent-handles-control-interface-input-pipe-not-read~1]
TEST_F(ControlInterfacesTest, UnreadLogEntriesEndTheirCampaignOnce) {
  open();
  accept();
  const Undelivered line{Parcel::kLogEntries, "r"};
  const auto forwarded = all<Forward>(interfaces.told(1, line));
  ASSERT_EQ(forwarded.size(), 1U);
  EXPECT_EQ(forwarded[0].request, (Request{"web@r", LogsCancelRequest{}}));
  EXPECT_TRUE(all<Forward>(interfaces.told(1, line)).empty());
  EXPECT_EQ(all<Forward>(interfaces.told(1, Undelivered{Parcel::kLogEntries, "s"})).size(), 1U);

  (void)interfaces.told(1, Said{Request{"r", LogsRequest{}}, 1});
  EXPECT_EQ(all<Forward>(interfaces.told(1, line)).size(), 1U) << "it is another campaign";
}

TEST_F(ControlInterfacesTest, OtherUnreadResponsesAreDropped) {
  open();
  accept();
  EXPECT_EQ(lines(interfaces.told(1, Undelivered{Parcel::kOtherResponse, "r"})),
            Lines{"complain Workload 'web': a response that it does not read is dropped"});
  EXPECT_TRUE(interfaces.told(1, Undelivered{Parcel::kClosing, {}}).empty());
}

TEST(Undelivered, SaysWhatItWas) {
  EXPECT_EQ(undelivered(ControlInterfaceAccepted{}).parcel, Parcel::kAcceptance);
  EXPECT_EQ(undelivered(ConnectionClosed{"x"}).parcel, Parcel::kClosing);
  EXPECT_EQ(undelivered(error("r")).parcel, Parcel::kOtherResponse);
  EXPECT_EQ(undelivered(error("r")).request_id, "r");
  EXPECT_EQ(undelivered(entries("l")).parcel, Parcel::kLogEntries);
  EXPECT_EQ(undelivered(entries("l")).request_id, "l");
  EXPECT_EQ(undelivered(Response{"l", LogsStopResponse{}}).parcel, Parcel::kOtherResponse);
}

// -- While the server is away

TEST_F(ControlInterfacesTest, RequestsWaitForTheServerInOrder) {
  open();
  accept();
  (void)interfaces.equip(*spec("db", "1", {kReadAll}));
  (void)interfaces.told(2, hello());
  interfaces.disconnected();
  for (const auto& [number, id] :
       std::vector<std::pair<InterfaceNumber, std::string>>{{1, "a"}, {2, "b"}, {1, "c"}})
    EXPECT_EQ(lines(interfaces.told(number, ask(id))),
              Lines{concat("read on interface ", std::to_string(number))});
  EXPECT_TRUE(all<Forward>(interfaces.told(1, Undelivered{Parcel::kLogEntries, "r"})).empty())
      << "its campaign ended with the connection";
  std::vector<std::string> ids;
  for (const auto& forward : all<Forward>(interfaces.connected()))
    ids.push_back(forward.request.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"web@a", "db@b", "web@c"}));
  EXPECT_TRUE(interfaces.connected().empty()) << "once";
}

TEST_F(ControlInterfacesTest, WhatADroppedInterfaceAskedForIsForgotten) {
  open();
  accept();
  interfaces.disconnected();
  (void)interfaces.told(1, ask("a"));
  (void)interfaces.drop(WorkloadName{"web"});
  EXPECT_TRUE(interfaces.connected().empty());
}

TEST_F(ControlInterfacesTest, NotTooManyRequestsWaitForTheServer) {
  open();
  accept();
  interfaces.disconnected();
  for (std::size_t i = 0; i < kMaxWaitingRequests; ++i)
    EXPECT_TRUE(all<SendToWorkload>(interfaces.told(1, ask("r"))).empty());
  EXPECT_EQ(
      std::get<Response>(sent(interfaces.told(1, ask("last")))),
      error("last",
            "The server is away and too many requests wait for it already. Try again later."));
  EXPECT_EQ(all<Forward>(interfaces.connected()).size(), kMaxWaitingRequests);
  interfaces.disconnected();
  EXPECT_TRUE(all<SendToWorkload>(interfaces.told(1, ask("r"))).empty()) << "there is room again";
}

TEST_F(ControlInterfacesTest, NotTooManyBytesWaitForTheServer) {
  open();
  accept();
  interfaces.disconnected();
  Said large = ask("r");
  large.bytes = kMaxWaitingBytes + 1;
  EXPECT_TRUE(all<SendToWorkload>(interfaces.told(1, large)).empty()) << "a single one may wait";
  EXPECT_EQ(all<SendToWorkload>(interfaces.told(1, ask("s"))).size(), 1U);
}

// -- The trace

TEST(ControlInterfacesTrace, WritesEventsAndEffects) {
  for (const auto& [event, expected] : std::vector<std::pair<InterfaceEvent, std::string>>{
           {hello(), "said hello 1.0.0"},
           {ask("r", {"agents"}), "said CompleteStateRequest r agents"},
           {Unusable{{}, "why"}, "unusable request 'none': why"},
           {Garbled{"why"}, "garbled: why"},
           {Garbled{"why", true}, "lost: why"},
           {Undelivered{Parcel::kOtherResponse, "r"}, "undelivered 'r'"},
           {NotOpened{"why"}, "not opened: why"}})
    EXPECT_EQ(to_string(event), expected);
  EXPECT_EQ(to_string(InterfaceEffect(Forward{{"r", LogsCancelRequest{}}})),
            "forward LogsCancelRequest r");
}

}  // namespace
}  // namespace tiphys::agent
