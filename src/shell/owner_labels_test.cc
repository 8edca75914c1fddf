#include "shell/owner_labels.h"

#include <gtest/gtest.h>

namespace tiphys::shell {
namespace {

const Owner kAnkaios{"ankaios", AgentName{"agent_A"}};
const Owner kDiego{"diego", AgentName{"agent_A"}};

TEST(OwnerLabels, AnkaiosHasItsOwnAndTheOthersOurs) {
  EXPECT_EQ(owner_labels(kAnkaios), (Labels{{"agent", "agent_A"}}));
  EXPECT_EQ(owner_labels(kDiego), (Labels{{"tiphys.owner", "diego"}, {"tiphys.agent", "agent_A"}}));
}

TEST(OwnerLabels, NobodyHasTheContainerOfAnother) {
  struct Row {
    Labels labels;
    bool ankaios;
    bool diego;
  };
  for (const auto& row : std::vector<Row>{
           {{}, false, false},
           {{{"agent", "agent_A"}}, true, false},
           {{{"agent", "agent_A"}, {"name", "any"}}, true, false},
           {{{"agent", "agent_B"}}, false, false},
           {{{"tiphys.owner", "diego"}, {"tiphys.agent", "agent_A"}}, false, true},
           {{{"tiphys.owner", "diego"}, {"tiphys.agent", "agent_B"}}, false, false},
           {{{"tiphys.owner", "other"}, {"tiphys.agent", "agent_A"}}, false, false},
           {{{"tiphys.owner", "diego"}, {"tiphys.agent", "agent_A"}, {"agent", "agent_A"}},
            false,
            true},
       }) {
    EXPECT_EQ(belongs_to(row.labels, kAnkaios), row.ankaios);
    EXPECT_EQ(belongs_to(row.labels, kDiego), row.diego);
  }
}

}  // namespace
}  // namespace tiphys::shell
