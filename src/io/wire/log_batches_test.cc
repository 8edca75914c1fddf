#include "io/wire/log_batches.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "ank_base.pb.h"
#include "base/strings.h"
#include "io/wire/ank_base.h"

namespace tiphys::wire {
namespace {

const InstanceName kInstance{{"a1"}, {std::string(64, '6')}, {"agent_A"}};

LogEntry entry(std::string message) { return {kInstance, std::move(message)}; }

std::size_t size_on_the_wire(const LogEntriesResponse& response) {
  ank_base::LogEntriesResponse wire;
  to_wire(response, wire);
  return wire.ByteSizeLong();
}

// The lengths of the messages in each batch.
std::vector<std::vector<std::size_t>> lengths(const std::vector<LogEntriesResponse>& batches) {
  std::vector<std::vector<std::size_t>> all;
  for (const auto& batch : batches) {
    all.emplace_back();
    for (const auto& each : batch.entries) all.back().push_back(each.message.size());
  }
  return all;
}

std::vector<LogEntriesResponse> batches_of(const std::vector<std::size_t>& sizes) {
  LogEntriesResponse response;
  for (const auto size : sizes) response.entries.push_back(entry(std::string(size, 'x')));
  return log_batches(std::move(response));
}

TEST(LogBatches, TakeAsMuchAsFits) {
  using Sizes = std::vector<std::size_t>;
  // With this instance an entry of so many letters fills a batch to the last byte.
  const std::size_t fits = kLogBatchLimit - 81 - 4 - 4;
  for (const auto& [given, expected] : std::vector<std::pair<Sizes, std::vector<Sizes>>>{
           {{}, {{}}},
           {{5}, {{5}}},
           {{0, 0}, {{0, 0}}},
           {{1'000'000, 1'000'000}, {{1'000'000, 1'000'000}}},
           {{1'500'000, 1'500'000}, {{1'500'000}, {1'500'000}}},
           {{1'000'000, 900'000, 1'000'000}, {{1'000'000, 900'000}, {1'000'000}}},
           {{fits}, {{fits}}},
           {{5, fits, 5}, {{5}, {fits}, {5}}}}) {
    EXPECT_EQ(lengths(batches_of(given)), expected);
  }
  EXPECT_EQ(size_on_the_wire({{entry(std::string(fits, 'x'))}}), kLogBatchLimit);
}

TEST(LogBatches, CutAnEntryThatIsTooLong) {
  for (const std::size_t size : {kLogBatchLimit, std::size_t{2'500'000}}) {
    const auto batches = batches_of({5, size, 7});
    ASSERT_EQ(batches.size(), 3U);
    EXPECT_EQ(batches[0].entries, std::vector{entry("xxxxx")});
    ASSERT_EQ(batches[1].entries.size(), 2U);
    EXPECT_TRUE(batches[1].entries[0] == entry(std::string(2'096'887, 'x') + " [truncated]"));
    EXPECT_EQ(batches[1].entries[1],
              entry("The previous message was truncated due to exceeding the maximum 2 MB size."));
    EXPECT_LE(size_on_the_wire(batches[1]), kLogBatchLimit);
    EXPECT_EQ(batches[2].entries, std::vector{entry("xxxxxxx")});
  }
}

TEST(LogBatches, CutBetweenCharacters) {
  for (const std::string character : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2"}) {
    SCOPED_TRACE(character);
    std::string text;
    while (text.size() < kLogBatchLimit) text += character;
    const auto batches = log_batches({{entry(text)}});
    ASSERT_EQ(batches.size(), 1U);
    const std::string& kept = batches[0].entries[0].message;
    const std::size_t length = kept.size() - kCutMark.size();
    EXPECT_EQ(length, 2'096'887 / character.size() * character.size());
    EXPECT_TRUE(kept == text.substr(0, length) + std::string(kCutMark));
  }
}

TEST(LogBatches, EndAlsoWhenNamesAreTooLong) {
  LogEntry odd = entry(std::string(100, 'x'));
  odd.instance.workload.value = std::string(kLogBatchLimit, 'w');
  const auto batches = log_batches({{odd, entry("after")}});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].entries[0].message, kCutMark);
  EXPECT_EQ(batches[1].entries[0], entry("after"));
}

TEST(LogBatches, MendWhatIsNotTextBeforeTheyMeasure) {
  const auto batches = log_batches({{entry(std::string(kLogBatchLimit / 2, '\xff'))}});
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].entries.size(), 2U) << "each bad byte takes three";
  EXPECT_LE(size_on_the_wire(batches[0]), kLogBatchLimit);
}

TEST(LogBatches, MeasureWhatGoesOverTheWire) {
  EXPECT_TRUE(rc::check([](const std::string& workload, const std::string& agent,
                           const std::string& id, std::uint16_t size) {
    const LogEntry given{
        {{with_valid_utf8(workload)}, {with_valid_utf8(id)}, {with_valid_utf8(agent)}},
        std::string(size, 'x')};
    ank_base::LogEntry wire;
    to_wire(given, wire);
    RC_ASSERT(encoded_size(given) == wire.ByteSizeLong());
  }));
}

}  // namespace
}  // namespace tiphys::wire
