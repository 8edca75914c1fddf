#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>

#include "io/wire/wire.h"
#include "tiphys_ext.pb.h"

namespace tiphys::wire {
namespace {

InstanceName instance(const std::string& id) {
  return {WorkloadName{"web"}, WorkloadId{id}, AgentName{"A"}};
}

TEST(TiphysExt, CarriesTheRequestOfADryRun) {
  const DryRunRequest request{
      {Tree::Map().set("desiredState", Tree::Map().set("apiVersion", "v1")), {"desiredState"}}};
  const auto decoded = decode_dry_run_request(encode(request));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(*decoded, request);
}

TEST(TiphysExt, CarriesEveryFate) {
  DryRun run{{}, {"old version"}, {"policy"}};
  for (const Fate fate :
       {Fate::kCreated, Fate::kReplaced, Fate::kUpdated, Fate::kDeleted, Fate::kUnchanged})
    run.workloads.push_back({std::string(to_string(fate)),
                             fate,
                             fate == Fate::kCreated ? std::nullopt : std::optional(instance("1")),
                             fate == Fate::kDeleted ? std::nullopt : std::optional(instance("2")),
                             {"agent changes"}});
  for (const DryRunResponse& response :
       {DryRunResponse(run), DryRunResponse(ErrorResponse{"no"})}) {
    const auto decoded = decode_dry_run_response(encode(response));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    EXPECT_EQ(*decoded, response);
  }
}

TEST(TiphysExt, CarriesTheAgesOfStates) {
  for (const StateAgesRequest& request : {StateAgesRequest{}, StateAgesRequest{{"web", "db"}}}) {
    const auto decoded = decode_state_ages_request(encode(request));
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    EXPECT_EQ(*decoded, request);
  }
  constexpr std::chrono::milliseconds kLongest(std::numeric_limits<std::int64_t>::max() /
                                               1'000'000);
  const StateAgesResponse response{
      {{instance("1"), std::chrono::milliseconds(0)}, {instance("2"), kLongest}}};
  const auto decoded = decode_state_ages_response(encode(response));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(*decoded, response);
}

TEST(TiphysExt, RefusesAgesThatCannotBe) {
  EXPECT_FALSE(decode_state_ages_request("\xff").has_value());
  tiphys_ext::GetStateAgesResponse response;
  response.add_ages()->set_milliseconds(1);
  EXPECT_EQ(decode_state_ages_response(response.SerializeAsString()).error().message,
            "ages[0]: Missing field 'instance'");
  response.mutable_ages(0)->mutable_instance()->set_workloadname("web");
  response.mutable_ages(0)->set_milliseconds(~std::uint64_t{0});
  EXPECT_EQ(decode_state_ages_response(response.SerializeAsString()).error().message,
            "ages[0]: milliseconds: 18446744073709551615 is longer than any state lasts");
}

TEST(TiphysExt, RefusesWhatHasNoMeaning) {
  EXPECT_EQ(decode_dry_run_request("").error().message, "Missing field 'update'");
  EXPECT_EQ(decode_dry_run_response("").error().message, "Missing field 'outcome'");
  EXPECT_FALSE(decode_dry_run_request("\xff").has_value());
  tiphys_ext::DryRunUpdateResponse response;
  response.mutable_plan()->add_workloads()->set_name("web");
  EXPECT_EQ(decode_dry_run_response(response.SerializeAsString()).error().message,
            "fate: unknown enumeration value 0");
}

}  // namespace
}  // namespace tiphys::wire
