#include "core/server/config_users.h"

#include <gtest/gtest.h>

#include "model/workload.h"

namespace tiphys::server {
namespace {

Tree using_items(const std::map<std::string, std::string>& configs) {
  auto workload = std::make_shared<Workload>();
  workload->configs = configs;
  return WorkloadPtr(workload);
}

using Names = std::set<std::string>;

TEST(ConfigUsers, FollowsTheWorkloads) {
  ConfigUsers users;
  const auto first = Tree::Map()
                         .set("web", using_items({{"a", "ports"}, {"b", "ports"}, {"c", "hosts"}}))
                         .set("db", using_items({{"x", "ports"}}))
                         .set("idle", using_items({}));
  users.follow({}, first);
  EXPECT_EQ(users.of("ports"), (Names{"db", "web"}));
  EXPECT_EQ(users.of("hosts"), Names{"web"});
  EXPECT_TRUE(users.of("nothing").empty());

  const auto second = first.set("web", using_items({{"a", "hosts"}})).erase("db");
  users.follow(first, second);
  EXPECT_TRUE(users.of("ports").empty());
  EXPECT_EQ(users.of("hosts"), Names{"web"});

  users.follow(second, {});
  EXPECT_TRUE(users.of("hosts").empty());
}

}  // namespace
}  // namespace tiphys::server
