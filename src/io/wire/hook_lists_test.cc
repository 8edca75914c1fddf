#include "io/wire/hook_lists.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpc_api.pb.h"

namespace tiphys::wire {
namespace {

using namespace std::string_literals;

TEST(HookLists, AreReadAsTheyWereWritten) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "B";
  workload->runtime = "podman";
  workload->runtime_config = " kept as it is ";
  workload->dependencies.edit() = {{"db", AddCondition::kRunning},
                                   {"log", AddCondition::kSucceeded}};
  workload->tags.edit() = {{"by", "hook"}, {"a", "b"}};
  const UpdateWorkload lists{{WorkloadSpec::unchecked({{"no name!"}, {"1"}, {"A"}}, workload)},
                             {{{{"web"}, {"2"}, {"A"}}, {}}}};
  const auto read = decode_lists(encode_lists(lists));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(*read == lists);
  EXPECT_EQ(encode_lists(*read), encode_lists(lists));
}

TEST(HookLists, AreEmptyWhereNothingIsWritten) {
  EXPECT_EQ(encode_lists({}), "");
  EXPECT_TRUE(*decode_lists("") == UpdateWorkload{});
}

TEST(HookLists, SayWhyTheyAreNoMessage) {
  for (const auto& [bytes, offence] : std::vector<std::pair<std::string, std::string>>{
           {"\xff\xff\xff", "invalid varint"},
           {std::string(11, '\xff'), "invalid varint"},
           {"\x08\xff", "invalid varint"},
           {"hello\n", "unexpected end group tag"},
           {"\x0a\x05x", "buffer underflow"},
           {"\x09xxx", "buffer underflow"},
           {"\x0d", "buffer underflow"},
           {"\x0f", "the bytes are not a well-formed message"},
           {"\x0a\x01\xff", "the bytes are not a well-formed message"}}) {
    const auto read = decode_lists(bytes);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    EXPECT_EQ(read.error().message, "failed to decode Protobuf message: " + offence);
  }
}

TEST(HookLists, SayWhatIsMissing) {
  grpc_api::UpdateWorkload whole;
  auto& added = *whole.add_addedworkloads();
  added.mutable_instancename()->set_workloadname("w");
  added.mutable_workload()->set_agent("A");
  added.mutable_workload()->set_runtime("podman");
  added.mutable_workload()->set_runtimeconfig("");
  ASSERT_TRUE(decode_lists(whole.SerializeAsString()).has_value());

  const auto offence = [&](const std::function<void(grpc_api::UpdateWorkload&)>& spoil) {
    auto wire = whole;
    spoil(wire);
    const auto read = decode_lists(wire.SerializeAsString());
    if (read || read.error().code != Code::kInvalidArgument) return "nothing"s;
    return read.error().message;
  };
  EXPECT_EQ(offence([](auto& wire) { wire.mutable_addedworkloads(0)->clear_instancename(); }),
            "No instance name");
  EXPECT_EQ(offence([](auto& wire) { wire.mutable_addedworkloads(0)->clear_workload(); }),
            "No workload");
  EXPECT_EQ(offence([](auto& wire) {
              wire.mutable_addedworkloads(0)->mutable_workload()->clear_runtime();
            }),
            "Missing field 'runtime'");
  EXPECT_EQ(offence([](auto& wire) { wire.add_deletedworkloads(); }), "No instance name");
}

}  // namespace
}  // namespace tiphys::wire
