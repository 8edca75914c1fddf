#include "core/server/log_campaigns.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tiphys::server {
namespace {

using Ids = std::vector<std::string>;
using Stops = std::vector<LogCampaigns::Stop>;

InstanceName on(const std::string& agent, const std::string& workload) {
  return {WorkloadName{workload}, WorkloadId{"id"}, AgentName{agent}};
}

TEST(RequestIds, SayWhereAMessageGoesAndWhatItIsCalledThere) {
  for (const auto& [id, expected] : std::vector<std::pair<std::string, std::optional<Address>>>{
           {"cli-conn-1@u1", Address{"cli-conn-1", "u1"}},
           {"agent_A@logger@7", Address{"agent_A", "logger@7"}},
           {"c@a@b@c", Address{"c", "a@b@c"}},
           {"c@", Address{"c", ""}},
           {"@", Address{"", ""}},
           {"no separator", std::nullopt},
           {"", std::nullopt}}) {
    SCOPED_TRACE(id);
    EXPECT_EQ(parse_full_request_id(id), expected);
    if (expected) {
      EXPECT_EQ(full_request_id(expected->connection, expected->request_id), id);
    }
  }
}

TEST(RequestIds, OfAWorkloadNameItFirst) {
  for (const auto& [id, expected] :
       std::vector<std::pair<std::string, std::optional<WorkloadName>>>{
           {"logger@7", WorkloadName{"logger"}},
           {"logger@7@8", WorkloadName{"logger"}},
           {"@7", WorkloadName{""}},
           {"7", std::nullopt},
           {"", std::nullopt}}) {
    SCOPED_TRACE(id);
    EXPECT_EQ(workload_of_request_id(id), expected);
  }
}

// Two commanders and two workloads of the same name collect from two agents.
class LogCampaignsTest : public testing::Test {
 protected:
  LogCampaignsTest() {
    campaigns.add("cli@1", {on("A", "web"), on("B", "db")});
    campaigns.add("cli@2", {on("A", "web")});
    campaigns.add("cli-2@1", {on("A", "web"), on("A", "api")});
    campaigns.add("A@logger@1", {on("B", "db")});
    campaigns.add("B@logger@1", {on("A", "web")});
  }
  Ids left() {
    Ids ids;
    for (const auto* id : {"A@logger@1", "B@logger@1", "cli-2@1", "cli@1", "cli@2"})
      if (campaigns.contains(id)) ids.emplace_back(id);
    return ids;
  }

  LogCampaigns campaigns;
};

// [utest->swdd~server-log-campaign-store-holds-log-campaign-metadata~1]
TEST_F(LogCampaignsTest, GoWithTheirCollector) {
  struct Row {
    const char* what;
    std::function<Ids(LogCampaigns&)> drop;
    Ids dropped;
    Ids left;
  };
  const auto connection = [](std::string_view name) {
    return [name](LogCampaigns& all) { return all.drop_connection(name); };
  };
  const auto workload = [](const char* agent, const char* name) {
    return
        [=](LogCampaigns& all) { return all.drop_workload(AgentName{agent}, WorkloadName{name}); };
  };
  const LogCampaigns before = campaigns;
  for (const auto& row :
       std::vector<Row>{{"a commander, not one whose name begins alike",
                         connection("cli"),
                         {"cli@1", "cli@2"},
                         {"A@logger@1", "B@logger@1", "cli-2@1"}},
                        {"an agent, not the same workload elsewhere",
                         connection("A"),
                         {"A@logger@1"},
                         {"B@logger@1", "cli-2@1", "cli@1", "cli@2"}},
                        {"a workload on its agent",
                         workload("B", "logger"),
                         {"B@logger@1"},
                         {"A@logger@1", "cli-2@1", "cli@1", "cli@2"}},
                        {"a workload whose name begins alike",
                         workload("A", "log"),
                         {},
                         {"A@logger@1", "B@logger@1", "cli-2@1", "cli@1", "cli@2"}},
                        {"nobody known",
                         connection("nobody"),
                         {},
                         {"A@logger@1", "B@logger@1", "cli-2@1", "cli@1", "cli@2"}}}) {
    SCOPED_TRACE(row.what);
    campaigns = before;
    EXPECT_EQ(row.drop(campaigns), row.dropped);
    EXPECT_EQ(left(), row.left);
    EXPECT_EQ(row.drop(campaigns), Ids{}) << "once";
  }
}

TEST_F(LogCampaignsTest, EndWithTheirLastProvider) {
  campaigns.stopped("cli@1", on("A", "web"));
  EXPECT_TRUE(campaigns.contains("cli@1"));
  campaigns.stopped("cli@1", on("A", "web"));
  campaigns.stopped("cli@1", on("A", "db"));
  EXPECT_TRUE(campaigns.contains("cli@1")) << "db runs on B";
  campaigns.stopped("cli@1", on("B", "db"));
  EXPECT_FALSE(campaigns.contains("cli@1"));
  campaigns.stopped("cli@1", on("B", "db"));
  campaigns.stopped("never heard of", on("B", "db"));
  EXPECT_EQ(campaigns.size(), 4U);
}

TEST_F(LogCampaignsTest, EndWhenTheyAreCancelled) {
  campaigns.cancel("cli@1");
  campaigns.cancel("cli@1");
  campaigns.cancel("never heard of");
  EXPECT_EQ(left(), (Ids{"A@logger@1", "B@logger@1", "cli-2@1", "cli@2"}));
  EXPECT_EQ(campaigns.drop_provider(AgentName{"B"}), (Stops{{"A@logger@1", on("B", "db")}}));
}

TEST_F(LogCampaignsTest, LearnOnceThatAProviderIsGone) {
  EXPECT_EQ(campaigns.drop_provider(AgentName{"A"}), (Stops{{"B@logger@1", on("A", "web")},
                                                            {"cli-2@1", on("A", "api")},
                                                            {"cli-2@1", on("A", "web")},
                                                            {"cli@1", on("A", "web")},
                                                            {"cli@2", on("A", "web")}}));
  EXPECT_EQ(campaigns.drop_provider(AgentName{"A"}), Stops{});
  EXPECT_EQ(campaigns.drop_provider(AgentName{"C"}), Stops{});
  EXPECT_TRUE(campaigns.has_providers());
  EXPECT_EQ(campaigns.drop_provider(AgentName{"B"}).size(), 2U);
  EXPECT_FALSE(campaigns.has_providers());
}

TEST_F(LogCampaignsTest, StayForTheirCollectorWhenTheyLostAProvider) {
  (void)campaigns.drop_provider(AgentName{"A"});
  campaigns.stopped("cli@1", on("B", "db"));
  EXPECT_EQ(left(), (Ids{"A@logger@1", "B@logger@1", "cli-2@1", "cli@1", "cli@2"}));
  campaigns.cancel("cli@1");
  EXPECT_EQ(campaigns.drop_connection("cli"), Ids{"cli@2"});
  campaigns.stopped("A@logger@1", on("B", "db"));
  EXPECT_EQ(left(), (Ids{"B@logger@1", "cli-2@1"}));
}

TEST_F(LogCampaignsTest, AreNotStoppedAgainWhenTheAgentIsLostLater) {
  campaigns.stopped("cli-2@1", on("A", "web"));
  campaigns.cancel("cli@2");
  EXPECT_EQ(campaigns.drop_provider(AgentName{"A"}), (Stops{{"B@logger@1", on("A", "web")},
                                                            {"cli-2@1", on("A", "api")},
                                                            {"cli@1", on("A", "web")}}));
}

TEST_F(LogCampaignsTest, GrowWhenAnIdIsUsedAgain) {
  campaigns.add("cli@2", {on("B", "db"), on("B", "db")});
  EXPECT_EQ(campaigns.of_connection("cli"), 2U);
  campaigns.stopped("cli@2", on("A", "web"));
  EXPECT_TRUE(campaigns.contains("cli@2"));
  campaigns.stopped("cli@2", on("B", "db"));
  EXPECT_FALSE(campaigns.contains("cli@2"));
}

TEST_F(LogCampaignsTest, WithoutProvidersAreNone) {
  campaigns.add("cli@3", {});
  EXPECT_FALSE(campaigns.contains("cli@3"));
  EXPECT_EQ(campaigns.of_connection("cli"), 2U);
  EXPECT_EQ(campaigns.of_connection("cli-2"), 1U);
  EXPECT_EQ(campaigns.of_connection("nobody"), 0U);
  campaigns.cancel("cli-2@1");
  EXPECT_EQ(campaigns.of_connection("cli-2"), 0U);
}

}  // namespace
}  // namespace tiphys::server
