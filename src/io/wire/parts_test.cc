// Large messages that are cut, because stock peers refuse more than 4 MiB.

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "io/wire/wire.h"

namespace tiphys::wire {
namespace {

std::vector<WorkloadState> states(std::size_t count, std::size_t text_size) {
  std::vector<WorkloadState> list;
  list.reserve(count);
  for (std::size_t number = 0; number < count; ++number)
    list.push_back({.instance = {{"workload_" + std::to_string(number)}, {"id"}, {"agent_A"}},
                    .state = ExecutionState(Phase::kRunningOk, std::string(text_size, 'x'))});
  return list;
}

std::vector<LogEntry> entries(std::size_t count, std::size_t text_size) {
  std::vector<LogEntry> list;
  list.reserve(count);
  for (std::size_t number = 0; number < count; ++number)
    list.push_back({.instance = {{"w"}, {"id"}, {"agent_A"}},
                    .message = std::to_string(number) + std::string(text_size, 'x')});
  return list;
}

TEST(Parts, AreOneWhenTheMessageIsSmall) {
  const ToServer message = UpdateWorkloadState{states(10, 10)};
  EXPECT_EQ(encode_in_parts(message), std::vector<std::string>{encode(message)});
}

TEST(Parts, OfWorkloadStatesStayBelowTheLimitAndKeepTheirOrder) {
  const auto all = states(10'000, 900);
  for (const bool is_to_server : {true, false}) {
    std::vector<WorkloadState> read;
    const auto parts = is_to_server ? encode_in_parts(ToServer(UpdateWorkloadState{all}))
                                    : encode_in_parts(FromServer(UpdateWorkloadState{all}));
    EXPECT_GE(parts.size(), 3U);
    for (const std::string& part : parts) {
      EXPECT_LE(part.size(), kPartLimit);
      const auto some = is_to_server
                            ? std::get<UpdateWorkloadState>(*decode_to_server(part)).states
                            : std::get<UpdateWorkloadState>(*decode_from_server(part)).states;
      read.insert(read.end(), some.begin(), some.end());
    }
    EXPECT_TRUE(read == all);
  }
}

TEST(Parts, OfLogEntriesNameTheirRequestEachTime) {
  const auto all = entries(5'000, 1'500);
  std::vector<LogEntry> read;
  for (const std::string& part : encode_in_parts(ToServer(LinkLogEntries{"ank@1", {all}}))) {
    EXPECT_LE(part.size(), kPartLimit);
    const auto message = std::get<LinkLogEntries>(*decode_to_server(part));
    EXPECT_EQ(message.request_id, "ank@1");
    read.insert(read.end(), message.entries.entries.begin(), message.entries.entries.end());
  }
  EXPECT_TRUE(read == all);
  for (const std::string& part :
       encode_in_parts(FromServer(Response{"ank@1", LogEntriesResponse{all}}))) {
    EXPECT_LE(part.size(), kPartLimit);
    EXPECT_EQ(std::get<Response>(*decode_from_server(part)).id, "ank@1");
  }
}

TEST(Parts, NeverCutASingleEntryOrAnotherMessage) {
  EXPECT_EQ(encode_in_parts(ToServer(UpdateWorkloadState{states(1, 5'000'000)})).size(), 1U);
  EXPECT_EQ(
      encode_in_parts(FromServer(Response{"1", ErrorResponse{std::string(5'000'000, 'x')}})).size(),
      1U);
  EXPECT_EQ(encode_in_parts(ToServer(Goodbye{})).size(), 1U);
}

}  // namespace
}  // namespace tiphys::wire
