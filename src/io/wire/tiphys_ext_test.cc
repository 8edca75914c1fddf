#include <gtest/gtest.h>

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
