#include "core/agent/log_fetchers.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::agent {
namespace {

using Lines = std::vector<std::string>;

InstanceName instance(const std::string& name, const std::string& id = "1") {
  return {WorkloadName{name}, WorkloadId{id}, AgentName{"A"}};
}

std::string shown(const LogEffect& effect) {
  return match(
      effect,
      [](const FetchLogs& e) {
        return concat("fetch ", std::to_string(e.fetch), " ", e.runtime, " ", e.container.value);
      },
      [](const ContinueFetching& e) { return "continue " + std::to_string(e.fetch); },
      [](const StopFetching& e) { return "stop fetching " + std::to_string(e.fetch); },
      [](const SendLogs& e) {
        std::string text = concat("send ", std::to_string(e.receipt), " to ", e.entries.request_id);
        for (const auto& entry : e.entries.entries.entries)
          text += concat(" ", entry.instance.workload.value, ".", entry.instance.id.value, "=",
                         entry.message.substr(0, 20));
        return text;
      },
      [](const LinkLogsStop& e) {
        return concat("stopped ", e.stop.instance.workload.value, ".", e.stop.instance.id.value,
                      " for ", e.request_id);
      },
      [](const LogsComplaint& e) { return "warn " + e.text; });
}

Lines shown(const LogEffects& effects) {
  Lines lines;
  for (const auto& effect : effects) lines.push_back(shown(effect));
  return lines;
}

class LogFetchersTest : public testing::Test {
 protected:
  LogFetchersTest() { (void)fetchers.connected(); }

  // web and db run; waiting has no container yet.
  Lines request(const std::string& id, const std::vector<InstanceName>& instances,
                LogsRequest options = {}) {
    options.instances = instances;
    return shown(fetchers.request({id, options}, [](const WorkloadName& name) {
      if (name.value == "waiting") return LogFetchers::Found{.is_known = true};
      if (name.value != "web" && name.value != "db") return LogFetchers::Found{};
      return LogFetchers::Found{true, LogFetchers::Source{"podman", {"c_" + name.value}}};
    }));
  }
  Lines arrived(FetchNumber fetch, const Lines& lines) {
    return shown(fetchers.arrived(fetch, lines));
  }
  Lines ended(FetchNumber fetch, const std::string& cause = {}) {
    return shown(fetchers.ended(fetch, cause));
  }
  Lines sent(ReceiptNumber receipt) { return shown(fetchers.sent(receipt)); }
  Lines cancel(const std::string& id) { return shown(fetchers.cancel(id)); }

  LogFetchers fetchers;
};

TEST_F(LogFetchersTest, LinesGoToWhoAskedUnderTheNameHeUsed) {
  // The id of a requested instance is not looked at, but comes back.
  EXPECT_EQ(request("B@app@7", {instance("web", "other")}), (Lines{"fetch 1 podman c_web"}));
  EXPECT_EQ(arrived(1, {"one", "", "two"}),
            (Lines{"send 1 to B@app@7 web.other=one web.other= web.other=two"}));
  EXPECT_EQ(sent(1), (Lines{"continue 1"}));
  EXPECT_EQ(arrived(1, {"three"}), (Lines{"send 2 to B@app@7 web.other=three"}));
  EXPECT_EQ(fetchers.size(), 1U);
  EXPECT_EQ(ended(1), (Lines{"stopped web.other for B@app@7"}));
  EXPECT_EQ(fetchers.size(), 0U);
  EXPECT_EQ(sent(2), Lines{});
}

TEST_F(LogFetchersTest, TheOptionsArePassedOnAsTheyCame) {
  const LogsRequest options{{}, true, -1, "", "x"};
  LogsRequest asked = options;
  asked.instances = {instance("web")};
  const auto effects = fetchers.request({"r", asked}, [](const WorkloadName&) {
    return LogFetchers::Found{true, LogFetchers::Source{"podman", {"c"}}};
  });
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(std::get<FetchLogs>(effects[0]).options, options);
}

TEST_F(LogFetchersTest, WhoHasNoLogsIsStoppedAtOnce) {
  EXPECT_EQ(request("r", {instance("ghost"), instance("web"), instance("waiting")}),
            (Lines{"warn Could not start collecting logs for 'ghost': there is no such workload.",
                   "stopped ghost.1 for r", "fetch 1 podman c_web",
                   ("warn Could not start collecting logs for 'waiting' as it has no workload ID "
                    "yet."),
                   "stopped waiting.1 for r"}));
  EXPECT_EQ(ended(1), (Lines{"stopped web.1 for r"}));
  EXPECT_EQ(fetchers.size(), 0U);
  EXPECT_EQ(request("r", {}), Lines{});
  EXPECT_EQ(fetchers.size(), 0U);
}

TEST_F(LogFetchersTest, ACampaignEndsWithTheLastOfItsWorkloads) {
  EXPECT_EQ(request("r", {instance("web"), instance("db"), instance("web")}),
            (Lines{"fetch 1 podman c_web", "fetch 2 podman c_db"}));
  EXPECT_EQ(ended(2), (Lines{"stopped db.1 for r"}));
  EXPECT_EQ(fetchers.size(), 1U);
  EXPECT_EQ(arrived(1, {"x"}), (Lines{"send 1 to r web.1=x"}));
  EXPECT_EQ(ended(1), (Lines{"stopped web.1 for r"}));
  EXPECT_EQ(fetchers.size(), 0U);
}

TEST_F(LogFetchersTest, AFailureIsSaidAndStops) {
  request("r", {instance("web")});
  EXPECT_EQ(
      ended(1, "exit code 125"),
      (Lines{"warn Collecting the logs of 'web' has ended: exit code 125", "stopped web.1 for r"}));
}

TEST_F(LogFetchersTest, AfterACancelNothingIsSent) {
  request("r", {instance("web"), instance("db")});
  request("other", {instance("web")});
  EXPECT_EQ(ended(2), (Lines{"stopped db.1 for r"}));
  EXPECT_EQ(cancel("r"), (Lines{"stop fetching 1"}));
  EXPECT_EQ(arrived(1, {"late"}), Lines{});
  EXPECT_EQ(ended(1), Lines{});
  EXPECT_EQ(cancel("r"), Lines{});
  EXPECT_EQ(cancel("unknown"), Lines{});
  EXPECT_EQ(arrived(3, {"x"}), (Lines{"send 1 to other web.1=x"}));
  EXPECT_EQ(fetchers.size(), 1U);
}

TEST_F(LogFetchersTest, TheSameIdAgainReplacesTheCampaign) {
  request("r", {instance("web")});
  EXPECT_EQ(request("r", {instance("web"), instance("db")}),
            (Lines{"stop fetching 1", "fetch 2 podman c_web", "fetch 3 podman c_db"}));
  EXPECT_EQ(arrived(1, {"old"}), Lines{});
  EXPECT_EQ(arrived(2, {"new"}), (Lines{"send 1 to r web.1=new"}));
  EXPECT_EQ(fetchers.size(), 1U);
}

TEST_F(LogFetchersTest, ALostServerEndsAllCampaigns) {
  request("r", {instance("web"), instance("db")});
  request("s", {instance("web")});
  arrived(1, {"x"});
  EXPECT_EQ(shown(fetchers.disconnected(false)),
            (Lines{"stop fetching 1", "stop fetching 2", "stop fetching 3"}));
  EXPECT_EQ(fetchers.size(), 0U);
  EXPECT_EQ(sent(1), Lines{});
  EXPECT_EQ(shown(fetchers.connected()), Lines{});
  EXPECT_EQ(arrived(1, {"late"}), Lines{});
}

TEST_F(LogFetchersTest, AConnectionThatEndedWellIsGoneOnWith) {
  request("r", {instance("web"), instance("db"), instance("db", "2")});
  arrived(1, {"x"});
  EXPECT_EQ(shown(fetchers.disconnected(true)), Lines{});
  EXPECT_EQ(sent(1), (Lines{"continue 1"})) << "what was under way is dropped by the link";
  EXPECT_EQ(arrived(1, {"later"}), Lines{});
  EXPECT_EQ(ended(1), Lines{});
  EXPECT_EQ(ended(2), Lines{});
  EXPECT_EQ(fetchers.size(), 1U);
  EXPECT_EQ(shown(fetchers.connected()),
            (Lines{"send 2 to r web.1=later", "stopped web.1 for r", "stopped db.1 for r"}));
  EXPECT_EQ(ended(3), (Lines{"stopped db.2 for r"}));
  EXPECT_EQ(fetchers.size(), 0U);
}

TEST_F(LogFetchersTest, ACancelAlsoEndsWhatWaitsForTheServer) {
  request("r", {instance("web")});
  (void)fetchers.disconnected(true);
  arrived(1, {"x"});
  ended(1);
  EXPECT_EQ(cancel("r"), Lines{}) << "the runtime has nothing to end";
  EXPECT_EQ(shown(fetchers.connected()), Lines{});
}

TEST_F(LogFetchersTest, WhatTheLinkDoesNotTakeWaitsInTurn) {
  request("r", {instance("web"), instance("db")});
  request("s", {instance("web")});
  const std::string big(kMostUnsentLogs, 'x');
  EXPECT_EQ(arrived(1, {big}).size(), 1U);
  EXPECT_EQ(arrived(2, {"two"}), Lines{});
  EXPECT_EQ(arrived(3, {"three"}), Lines{});
  EXPECT_EQ(ended(2), Lines{});
  EXPECT_EQ(ended(3), Lines{});
  EXPECT_EQ(sent(1), (Lines{"continue 1", "send 2 to r db.1=two", "stopped db.1 for r",
                            "send 3 to s web.1=three", "stopped web.1 for s"}));
  EXPECT_EQ(sent(1), Lines{}) << "told twice";
  EXPECT_EQ(sent(2), Lines{});
  EXPECT_EQ(sent(3), Lines{});
  EXPECT_EQ(sent(4711), Lines{});
}

TEST_F(LogFetchersTest, WhatACancelledCampaignLeftWithTheLinkStillCounts) {
  request("r", {instance("web")});
  request("s", {instance("db")});
  arrived(1, {std::string(kMostUnsentLogs, 'x')});
  cancel("r");
  EXPECT_EQ(arrived(2, {"two"}), Lines{});
  EXPECT_EQ(sent(1), (Lines{"send 2 to s db.1=two"}));
}

TEST_F(LogFetchersTest, WritesItsEffectsForTheTrace) {
  for (const auto& [effect, text] : std::vector<std::pair<LogEffect, std::string>>{
           {FetchLogs{1, "podman", {"c1"}, {}}, "fetch logs #1 of c1 in podman"},
           {ContinueFetching{2}, "continue logs #2"},
           {StopFetching{3}, "stop logs #3"},
           {SendLogs{4, {"r", {}}}, "send LogEntriesResponse r"},
           {LinkLogsStop{"r", {instance("web")}}, "send LogsStopResponse r web.1.A"},
           {LogsComplaint{"no"}, "warn no"}})
    EXPECT_EQ(to_string(effect), text);
}

}  // namespace
}  // namespace tiphys::agent
