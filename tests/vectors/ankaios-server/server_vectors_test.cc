// Replays what a stock Ankaios server was seen to do against a whole server of ours, from the link to the machine.
//
// Where ours does something else on purpose, differences/<file>.json says so for each scenario: the rows of
// differences/rows.json that explain it, and what comes instead. An unlisted difference fails, and so does a listed one
// that is gone or has become another. TIPHYS_UPDATE=1 writes what comes; the rows are for people to fill in.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "base/strings.h"
#include "replay.h"

namespace tiphys::vectors {
namespace {

// Tests run in the root of the tree.
const std::filesystem::path kFolder = "tests/vectors/ankaios-server";

Json read_json(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return stream ? Json::parse(stream) : Json::object();
}

bool is_updating() { return std::getenv("TIPHYS_UPDATE") != nullptr; }

const Json& rows() {
  static const Json kRows = read_json(kFolder / "differences/rows.json");
  return kRows;
}

// A line for each step, so that a change can be reviewed.
std::string to_text(const Json& found) {
  std::string text = "{";
  for (const auto& [name, entry] : found.items()) {
    text += concat(text.size() == 1 ? "\n" : ",\n", Json(name).dump(),
                   ": {\n \"row\": ", entry["row"].dump(), ",\n \"ours\": {");
    std::string steps;
    for (const auto& [number, observed] : entry["ours"].items())
      steps += concat(steps.empty() ? "\n" : ",\n", "  \"", number, "\": ", observed.dump());
    text += concat(steps, "\n }\n}");
  }
  return text + "\n}\n";
}

// By the number of the step.
Json as_listed(const Differences& differences) {
  Json list = Json::object();
  for (const auto& [number, observed] : differences) list[std::to_string(number)] = observed;
  return list;
}

std::string explain(const Json& scenario, const Differences& differences) {
  std::string text;
  for (const auto& [number, observed] : differences)
    text += concat("\n  step ", std::to_string(number), "\n    recorded ",
                   scenario["steps"][number].dump(), "\n    ours     ", observed.dump());
  return text;
}

class ServerVectors : public ::testing::TestWithParam<const char*> {};

TEST_P(ServerVectors, GoAsRecordedOrAsListed) {
  const std::filesystem::path path_of_list = kFolder / "differences" / concat(GetParam(), ".json");
  const Json listed = read_json(path_of_list);
  Json found = Json::object();
  std::set<std::string> names;
  int equal = 0;
  int without_repeated_states = 0;
  const Json scenarios = read_json(kFolder / concat(GetParam(), ".json"));
  ASSERT_FALSE(scenarios.empty());
  for (Json scenario : scenarios) {
    const std::string name = scenario["name"];
    EXPECT_TRUE(names.insert(name).second) << "two scenarios are called " << name;
    if (forget_repeated_states(scenario)) ++without_repeated_states;
    const Differences differences = replay(scenario);
    const Json entry = listed.value(name, Json());
    if (differences.empty()) {
      ++equal;
      EXPECT_TRUE(entry.is_null() || is_updating()) << name << " goes as recorded now";
      continue;
    }
    found[name] = {{"row", entry.is_null() ? "" : entry["row"]}, {"ours", as_listed(differences)}};
    if (is_updating()) continue;
    if (entry.is_null())
      ADD_FAILURE() << name << explain(scenario, differences);
    else if (entry["ours"] != found[name]["ours"])
      ADD_FAILURE() << name << " differs otherwise than it is listed"
                    << explain(scenario, differences);
  }
  for (const auto& [name, entry] : listed.items())
    EXPECT_TRUE(names.contains(name)) << "there is no scenario " << name;
  for (const auto& [name, entry] : found.items()) {
    const std::string explained_by = entry["row"];
    for (const auto row : split(explained_by, ';'))
      EXPECT_TRUE(rows().contains(std::string(trim(row))))
          << name << ": the row '" << trim(row) << "' is not in rows.json";
  }
  std::cout << GetParam() << ": " << names.size() << " scenarios, " << equal << " as recorded ("
            << without_repeated_states << " of all without states that are sent again), "
            << found.size() << " as listed\n";
  if (is_updating()) std::ofstream(path_of_list) << to_text(found);
}

INSTANTIATE_TEST_SUITE_P(Files, ServerVectors,
                         ::testing::Values("01-hello", "02-read-masks", "03-update-whole",
                                           "04-update-masked", "05-names", "06-dependencies",
                                           "07-templates", "08-agents", "09-workload-states",
                                           "10-mutating-hooks", "11-logs", "12-events-matrix",
                                           "13-events-many-masks", "14-events-subscriptions",
                                           "15-startup-manifest", "16-effective-state",
                                           "17-request-routing", "18-size-limits"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return "File" + name;
                         });

}  // namespace
}  // namespace tiphys::vectors
