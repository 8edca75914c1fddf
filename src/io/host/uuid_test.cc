#include "io/host/uuid.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace tiphys::host {
namespace {

TEST(Uuid, IsOfVersionFourAndNeverTheSame) {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> made;
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = new_uuid();
    EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
    EXPECT_TRUE(made.insert(uuid).second) << uuid;
  }
}

}  // namespace
}  // namespace tiphys::host
