#include "core/agent/workload_files.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace tiphys::agent {
namespace {

using Parts = std::vector<std::string>;

std::string text_of(const Result<std::vector<std::string>>& place) {
  return place ? "is taken" : place.error().message;
}
std::string text_of(const Result<std::string>& content) {
  return content ? "is taken" : content.error().message;
}

TEST(WorkloadFiles, AFileStandsBelowItsFolderAsItsMountPointSays) {
  for (const auto& [mount_point, place] :
       std::vector<std::pair<std::string, Parts>>{{"/a", {"a"}},
                                                  {"/etc/a/b.conf", {"etc", "a", "b.conf"}},
                                                  {"/a//b", {"a", "b"}},
                                                  {"//a", {"a"}},
                                                  {"/a/./b", {"a", "b"}},
                                                  {"/./a", {"a"}},
                                                  {"/a/.", {"a"}},
                                                  {"/a b.txt", {"a b.txt"}},
                                                  {"/a,b", {"a,b"}},
                                                  {"/grün/ß", {"grün", "ß"}},
                                                  {"/..a/b../...", {"..a", "b..", "..."}},
                                                  {"/.hidden", {".hidden"}}}) {
    SCOPED_TRACE(mount_point);
    const auto found = place_of_file(mount_point);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, place);
  }
}

TEST(WorkloadFiles, AMountPointThatNamesNoFileIsRefusedInTheWordsOfAnkaios) {
  for (const auto& [mount_point, offence] : std::vector<std::pair<std::string, std::string>>{
           {"/", "'/' is a directory, expected a file"},
           {"/etc/", "'/etc/' is a directory, expected a file"},
           {"etc/", "'etc/' is a directory, expected a file"},
           {"/../", "'/../' is a directory, expected a file"},
           {"/.", "'/.' is a directory, expected a file"},
           {"", "path '' is relative, expected absolute path"},
           {"etc/a", "path 'etc/a' is relative, expected absolute path"},
           {"../a", "path '../a' is relative, expected absolute path"},
           {"/..", "path '/..' contains invalid path components"},
           {"/../a", "path '/../a' contains invalid path components"},
           {"/etc/../a", "path '/etc/../a' contains invalid path components"},
           {"/etc/..", "path '/etc/..' contains invalid path components"},
           {std::string("/a\0b", 4),
            concat("path '", std::string("/a\0b", 4), "' contains invalid path components")}}) {
    SCOPED_TRACE(mount_point);
    EXPECT_EQ(text_of(place_of_file(mount_point)),
              concat("Failed to create workload file: 'invalid mount point '", mount_point, "': '",
                     offence, "''"));
  }
}

TEST(WorkloadFiles, TextIsTakenAsItIs) {
  for (const std::string text : {"", "a=1\nb=2\n", "  grün ", "AAE"})
    EXPECT_EQ(content_of_file({"/a", File::Encoding::kText, text}), text);
}

TEST(WorkloadFiles, BinaryDataIsBase64InLines) {
  for (const auto& [data, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"\n \n", ""},
           {"AAEC/w==", std::string("\x00\x01\x02\xff", 4)},
           {"  AAEC\n  AwQF\n", std::string("\x00\x01\x02\x03\x04\x05", 6)},
           {"\tAA\r\nEC\r\n/w=\n=", std::string("\x00\x01\x02\xff", 4)}}) {
    SCOPED_TRACE(data);
    const auto content = content_of_file({"/a", File::Encoding::kBase64, data});
    ASSERT_TRUE(content) << content.error().message;
    EXPECT_EQ(*content, bytes);
  }
}

TEST(WorkloadFiles, BinaryDataThatIsNoBase64IsRefusedInTheWordsOfAnkaios) {
  for (const auto& [data, offence] :
       std::vector<std::pair<std::string, std::string>>{{"A*==", "Invalid symbol 42, offset 1."},
                                                        {"AA EC", "Invalid symbol 32, offset 2."},
                                                        {"AAECA", "Invalid input length: 5"},
                                                        {"AAE", "Invalid padding"}}) {
    SCOPED_TRACE(data);
    EXPECT_EQ(
        text_of(content_of_file({"/b", File::Encoding::kBase64, data})),
        concat("Failed to create workload file: 'invalid base64 data in '/b': '", offence, "''"));
  }
}

TEST(WorkloadFiles, WhatTheSystemRefusesIsSaidWithItsMountPoint) {
  EXPECT_EQ(folder_failure("/a/b", "full"),
            "Failed to create workload file: 'failed to create workload file directory structure "
            "for '/a/b': 'full''");
  EXPECT_EQ(write_failure("/a/b", "full"),
            "Failed to create workload file: 'write failed for '/a/b': 'full''");
}

TEST(WorkloadFiles, TheFolderOfAWorkloadIsNamedByNameAndId) {
  EXPECT_EQ(folder_name({WorkloadName{"web"}, WorkloadId{"abc"}, AgentName{"agent_A"}}), "web.abc");
}

}  // namespace
}  // namespace tiphys::agent
