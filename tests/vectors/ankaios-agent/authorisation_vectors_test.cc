// Replays which requests of a workload a stock Ankaios agent forwarded and which it denied, for many sets of rules.
//
// differences/authorisation.json lists the decisions that are otherwise here, each under the row that says why; one that is
// missing there, or not needed, fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/agent/authorisation.h"

namespace tiphys::agent {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

Json read_json(const std::string& name) {
  std::ifstream file("tests/vectors/ankaios-agent/" + name);
  return Json::parse(file);
}

Operation operation_of(const std::string& word) {
  if (word == "RW_READ") return Operation::kRead;
  if (word == "RW_WRITE") return Operation::kWrite;
  if (word == "RW_READ_WRITE") return Operation::kReadWrite;
  EXPECT_EQ(word, "RW_NOTHING");
  return Operation::kNothing;
}

std::vector<AccessRule> rules_of(const Json& access, const char* key) {
  std::vector<AccessRule> rules;
  for (const auto& rule : access.value(key, Json::array()))
    if (rule.contains("logRule"))
      rules.emplace_back(LogRule{rule["logRule"].value("workloadNames", Texts())});
    else
      rules.emplace_back(StateRule{operation_of(rule["stateRule"].value("operation", "RW_NOTHING")),
                                   rule["stateRule"].value("filterMasks", Texts())});
  return rules;
}

Request request_of(const Json& decision) {
  const std::string kind = decision["request"];
  if (kind == "CompleteStateRequest")
    return {"r", CompleteStateRequest{decision["mask"].get<Texts>(), false}};
  if (kind == "UpdateStateRequest")
    return {"r", UpdateStateRequest{Tree(Tree::Map()), decision["mask"].get<Texts>()}};
  EXPECT_EQ(kind, "LogsRequest");
  LogsRequest logs;
  for (const auto& name : decision["workloads"].get<Texts>())
    logs.instances.push_back({WorkloadName{name}, WorkloadId{"1"}, AgentName{"A"}});
  return {"r", std::move(logs)};
}

TEST(AuthorisationVectors, AreDecidedAsRecorded) {
  const Json scenarios = read_json("authorisation.json");
  const Json differences = read_json("differences/authorisation.json");
  std::size_t decided = 0;
  std::set<std::string> used;
  for (const auto& [name, scenario] : scenarios.items()) {
    const ControlInterfaceAccess access{rules_of(scenario["access"], "allowRules"),
                                        rules_of(scenario["access"], "denyRules")};
    for (const auto& decision : scenario["decisions"]) {
      const bool was_forwarded = decision["decision"] == "forwarded";
      const bool is_forwarded = is_allowed(request_of(decision), access);
      ++decided;
      if (is_forwarded == was_forwarded) continue;
      Json ours = decision;
      ours["decision"] = is_forwarded ? "forwarded" : "denied";
      const auto listed = differences["scenarios"].find(name);
      const bool is_listed =
          listed != differences["scenarios"].end() &&
          std::count((*listed)["ours"].begin(), (*listed)["ours"].end(), ours) == 1;
      EXPECT_TRUE(is_listed) << name << ": " << ours.dump();
      used.insert(name + ours.dump());
    }
  }
  EXPECT_EQ(decided, 1092U);
  for (const auto& [name, difference] : differences["scenarios"].items()) {
    EXPECT_TRUE(differences["rows"].contains(difference["row"].get<std::string>())) << name;
    for (const auto& ours : difference["ours"])
      EXPECT_TRUE(used.contains(name + ours.dump())) << name << " is as stock: " << ours.dump();
  }
}

}  // namespace
}  // namespace tiphys::agent
