#include "bench/harness.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tiphys::bench {
namespace {

// Answers with the next figure each time, and remembers who was asked.
Round figures(std::vector<double> values, std::string& order, char name) {
  return [values, &order, name, at = std::size_t{0}]() mutable -> Result<std::vector<double>> {
    order += name;
    return std::vector{values[at++ % values.size()]};
  };
}

nlohmann::json as_json(const Report& report) {
  std::string folder = std::filesystem::temp_directory_path() / "tiphys-bench-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/report.json";
  EXPECT_TRUE(report.write_json(path));
  nlohmann::json json;
  std::ifstream(path) >> json;
  std::filesystem::remove_all(folder);
  return json;
}

TEST(Harness, MeasuresInTurnsAndTakesMedians) {
  Report report("a title", "a floor", "a subject");
  std::string order;
  report.compare({{.name = "calls", .unit = "1/s", .budget = at_least(2.5)}}, 3,
                 figures({10, 1000, 20}, order, 'f'), figures({60, 1, 50}, order, 's'));
  EXPECT_EQ(order, "fsfsfs");
  const auto line = as_json(report)["lines"][0];
  EXPECT_EQ(line["floor"], 20);
  EXPECT_EQ(line["subject"], 50);
  EXPECT_EQ(line["ratio"], 2.5);
  EXPECT_EQ(line["budget"], ">= 2.5");
  EXPECT_EQ(line["met"], true);
  EXPECT_TRUE(report.is_complete());
}

TEST(Harness, SaysWhichBudgetsAreMet) {
  for (const auto& [budget, subject, expected] :
       std::vector<std::tuple<Budget, double, bool>>{{at_least(2), 20, true},
                                                     {at_least(2), 19, false},
                                                     {at_most(0.5), 5, true},
                                                     {at_most(0.5), 6, false}}) {
    SCOPED_TRACE(subject);
    Report report("", "", "");
    std::string order;
    report.compare({{.name = "memory", .unit = "KiB", .budget = budget}}, 1,
                   figures({10}, order, 'f'), figures({subject}, order, 's'));
    EXPECT_EQ(as_json(report)["lines"][0]["met"], expected);
  }
}

TEST(Harness, GoesOnAfterABenchmarkThatCannotFinish) {
  Report report("", "", "");
  std::string order;
  const Round broken = []() -> Result<std::vector<double>> {
    return fail(Code::kUnavailable, "no server");
  };
  report.compare({{.name = "first", .unit = "us"}}, 3, figures({1}, order, 'f'), broken);
  report.compare({{.name = "second", .unit = "us"}}, 1, figures({1}, order, 'f'),
                 figures({2}, order, 's'));
  EXPECT_FALSE(report.is_complete());
  const auto lines = as_json(report)["lines"];
  EXPECT_EQ(lines[0]["problem"], "subject: no server");
  EXPECT_FALSE(lines[0].contains("ratio"));
  EXPECT_EQ(lines[1]["ratio"], 2);
}

TEST(Harness, ReportsAFileThatCannotBeWritten) {
  const Report report("", "", "");
  const Status written = report.write_json("/nonexistent/report.json");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "/nonexistent/report.json: cannot be written");
}

TEST(Harness, ReadsItsOptions) {
  const auto options = parse_options({"--json", "out.json", "--rounds", "9"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->json, "out.json");
  EXPECT_EQ(options->rounds, 9);
  for (const auto& [words, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--jsn", "x"}, "unknown word '--jsn'; expected --json FILE or --rounds N"},
           {{"--json"}, "--json: a value is missing"},
           {{"--rounds", "0"}, "--rounds: '0' is no number of rounds; expected 1 or more"},
           {{"--rounds", "2x"}, "--rounds: '2x' is no number of rounds; expected 1 or more"}}) {
    const auto refused = parse_options(words);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, message);
  }
}

}  // namespace
}  // namespace tiphys::bench
