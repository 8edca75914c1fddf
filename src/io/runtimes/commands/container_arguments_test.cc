#include "io/runtimes/commands/container_arguments.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace tiphys::commands {
namespace {

const shell::Owner kAnkaios{"ankaios", AgentName{"agent_A"}};
const shell::ContainerId kId{"2eecc489"};

shell::ContainerSpec spec_of_all_fields() {
  return {.name = "web.aaa.agent_A",
          .image = "img.local/demo:1",
          .general_options = {"--root", "/x"},
          .create_options = {"-e", "K=V", "--name", "own"},
          .arguments = {"one", "", "two three"},
          .mounts = {{"/run/ankaios/agent_A_io/web.aaa/control_interface",
                      "/run/ankaios/control_interface", false},
                     {"/host/a.conf", "/etc/a.conf", true}},
          .labels = {{"name", "web.aaa.agent_A"}, {"agent", "agent_A"}, {"also", "this"}}};
}

// [utest->swdd~podman-create-workload-sets-optionally-container-name~1]
// [utest->swdd~podman-create-workload-creates-labels~1]
TEST(ContainerArguments, RunHasTheOrderThatLetsTheRightOneWin) {
  const std::string pipes =
      "--mount=type=bind,source=/run/ankaios/agent_A_io/web.aaa/control_interface,"
      "destination=/run/ankaios/control_interface";
  EXPECT_EQ(
      run_arguments(kAnkaios, spec_of_all_fields()),
      (Arguments{"--root", "/x", "run", "--detach", "--name=web.aaa.agent_A", "-e", "K=V", "--name",
                 "own", pipes,
                 "--mount=type=bind,source=/host/a.conf,destination=/etc/a.conf,readonly=true",
                 "--label=name=web.aaa.agent_A", "--label=agent=agent_A", "--label=also=this",
                 "img.local/demo:1", "one", "", "two three"}));
}

TEST(ContainerArguments, OtherPartsHaveLabelsOfTheirOwn) {
  shell::ContainerSpec spec;
  spec.name = "lrp-1";
  spec.image = "i";
  EXPECT_EQ(create_arguments({"diego", AgentName{"cell_1"}}, spec),
            (Arguments{"create", "--name=lrp-1", "--label=tiphys.agent=cell_1",
                       "--label=tiphys.owner=diego", "i"}));
}

TEST(ContainerArguments, ANameIsNoOptionWhateverItBeginsWith) {
  shell::ContainerSpec spec;
  spec.name = "-x";
  spec.image = "i";
  const auto arguments = run_arguments(kAnkaios, spec);
  EXPECT_EQ(arguments.at(2), "--name=-x");
}

TEST(ContainerArguments, TheOthersAreShort) {
  EXPECT_EQ(start_arguments({"--log-level", "debug"}, kId),
            (Arguments{"--log-level", "debug", "start", "2eecc489"}));
  EXPECT_EQ(kill_arguments(kId, 15), (Arguments{"kill", "--signal=TERM", "2eecc489"}));
  EXPECT_EQ(kill_arguments(kId, 40), (Arguments{"kill", "--signal=40", "2eecc489"}));
}

TEST(ContainerArguments, AreShownInQuotesAsTheyAre) {
  EXPECT_EQ(shown("podman", {"run", "a \"b\"", "\\", ""}),
            "podman \"run\" \"a \"b\"\" \"\\\" \"\"");
}

}  // namespace
}  // namespace tiphys::commands
