#include "io/rpc/metadata.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <tuple>

namespace tiphys::rpc {
namespace {

Metadata there_and_back(const Metadata& metadata) {
  Fields fields;
  append(fields, metadata);
  return metadata_of(fields);
}

TEST(Metadata, ComesBackAsItWasSent) {
  const Metadata metadata = {{"text", "a value, with a comma"},
                             {"data-bin", std::string("\0\x01\xff", 3)},
                             {"text", ""},
                             {"data-bin", ""}};
  EXPECT_EQ(there_and_back(metadata), metadata);
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    const Metadata binary = {{"some-bin", bytes}};
    RC_ASSERT(there_and_back(binary) == binary);
  }));
}

TEST(Metadata, IsSentWithoutPadding) {
  Fields fields;
  append(fields, {{"a-bin", "1"}, {"b-bin", "12"}, {"c-bin", "123"}});
  EXPECT_EQ(fields.find("a-bin"), "MQ");
  EXPECT_EQ(fields.find("b-bin"), "MTI");
  EXPECT_EQ(fields.find("c-bin"), "MTIz");
}

TEST(Metadata, TakesBinaryValuesAsPeersWriteThem) {
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{{"MQ", {"1"}},
                                                                     {"MQ==", {"1"}},
                                                                     {"MTI=", {"12"}},
                                                                     {"MQ,MTI", {"1", "12"}},
                                                                     {"MQ==, MTI=", {"1", "12"}},
                                                                     {"", {""}},
                                                                     {"!", {}},
                                                                     {"M", {}},
                                                                     {"MQ,!,MTI", {"1", "12"}}}) {
    SCOPED_TRACE(text);
    Fields fields;
    fields.add("x-bin", text);
    std::vector<std::string> values;
    for (const auto& [name, value] : metadata_of(fields)) values.push_back(value);
    EXPECT_EQ(values, expected);
  }
}

TEST(Metadata, LeavesOutWhatBelongsToHttpAndGrpc) {
  Fields fields;
  for (const char* name :
       {":path", "te", "content-type", "user-agent", "grpc-timeout", "grpc-anything", "mine"})
    fields.add(name, "x");
  EXPECT_EQ(metadata_of(fields), (Metadata{{"mine", "x"}}));
}

TEST(Metadata, IsCheckedBeforeItIsSent) {
  for (const auto& [name, value, is_good] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"a-z_0.9", " ~", true},
                                                               {"x-bin", "\xff", true},
                                                               {"", "x", false},
                                                               {"Upper", "x", false},
                                                               {"spa ce", "x", false},
                                                               {"x", "\n", false},
                                                               {"x", "ä", false},
                                                               {"grpc-x", "x", false},
                                                               {":path", "x", false},
                                                               {"content-type", "x", false}}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(check({{name, value}}).has_value(), is_good);
    EXPECT_EQ(there_and_back({{name, value}}).empty(), !is_good);
  }
}

}  // namespace
}  // namespace tiphys::rpc
