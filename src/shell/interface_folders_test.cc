#include "shell/interface_folders.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiphys::shell {
namespace {

const InstanceName kWeb{WorkloadName{"web"}, WorkloadId{"1"}, AgentName{"A"}};
const InstanceName kNewWeb{WorkloadName{"web"}, WorkloadId{"2"}, AgentName{"A"}};

class InterfaceFoldersTest : public testing::Test {
 protected:
  void ask(const InstanceName& instance) {
    folders.ask(instance, [this](const std::optional<std::string>& folder) {
      told.push_back(folder.value_or("none"));
    });
  }

  InterfaceFolders folders;
  std::vector<std::string> told;
};

TEST_F(InterfaceFoldersTest, TellsAtOnceWhatIsKnown) {
  ask(kWeb);
  folders.opening(1, kWeb);
  folders.opened(1, "/run/web");
  ask(kWeb);
  ask(kNewWeb);
  EXPECT_EQ(told, (std::vector<std::string>{"none", "/run/web", "none"}));
}

TEST_F(InterfaceFoldersTest, WaitsForAnOpeningUnderWay) {
  folders.opening(1, kWeb);
  ask(kWeb);
  ask(kWeb);
  EXPECT_TRUE(told.empty());
  folders.opened(1, "/run/web");
  EXPECT_EQ(told, (std::vector<std::string>{"/run/web", "/run/web"}));
}

TEST_F(InterfaceFoldersTest, AnOpeningThatFailsIsNone) {
  folders.opening(1, kWeb);
  ask(kWeb);
  folders.opened(1, std::nullopt);
  ask(kWeb);
  EXPECT_EQ(told, (std::vector<std::string>{"none", "none"}));
}

TEST_F(InterfaceFoldersTest, ACloseEndsTheWait) {
  folders.opening(1, kWeb);
  ask(kWeb);
  folders.closed(1);
  EXPECT_EQ(told, std::vector<std::string>{"none"});
  folders.opened(1, "/run/web");  // the answer was under way
  ask(kWeb);
  EXPECT_EQ(told, (std::vector<std::string>{"none", "none"}));
}

TEST_F(InterfaceFoldersTest, TheNewestInterfaceOfAnInstanceCounts) {
  folders.opening(1, kWeb);
  folders.opened(1, "/run/old");
  folders.opening(2, kWeb);
  folders.closed(1);
  ask(kWeb);
  folders.opened(2, "/run/new");
  EXPECT_EQ(told, std::vector<std::string>{"/run/new"});
  folders.closed(2);
  folders.closed(2);
  ask(kWeb);
  EXPECT_EQ(told.back(), "none");
}

TEST(InterfaceFolders, AnOpeningWaitsWhileTheFolderIsCleared) {
  InterfaceFolders folders;
  const InstanceName web{WorkloadName{"web"}, WorkloadId{"1"}, AgentName{"A"}};
  const InstanceName other{WorkloadName{"web"}, WorkloadId{"2"}, AgentName{"A"}};
  int opened = 0;
  folders.clearing(web);
  folders.clearing(web);
  folders.when_clear(web, [&] { ++opened; });
  folders.when_clear(other, [&] { opened += 10; });
  EXPECT_EQ(opened, 10) << "the folder of another instance is none of its business";
  folders.cleared(web);
  EXPECT_EQ(opened, 10) << "one clearing is still under way";
  folders.cleared(web);
  EXPECT_EQ(opened, 11);
  folders.when_clear(web, [&] { ++opened; });
  EXPECT_EQ(opened, 12);
}

}  // namespace
}  // namespace tiphys::shell
