#include "model/names.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/strings.h"

namespace tiphys {
namespace {

using namespace std::string_literals;

const std::string kLongest(63, 'a');
const std::string kTooLong(64, 'b');

// Texts that no name may be, whatever its kind.
const std::vector<std::string> kIllFormed{"a b", "a.b", "ä",   "漢字", "a@b", "*",
                                          "a/b", "a\n", "a:b", "w\0"s, " a",  "a\xff"};

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

template <class T>
rc::Gen<T> name_of_length(int shortest, int longest) {
  const auto characters =
      rc::gen::elementOf("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"s);
  return rc::gen::map(rc::gen::mapcat(rc::gen::inRange(shortest, longest + 1),
                                      [=](int length) {
                                        return rc::gen::container<std::string>(
                                            static_cast<std::size_t>(length), characters);
                                      }),
                      [](std::string text) { return T{std::move(text)}; });
}

// [utest->swdd~api-workload-naming-convention~1]
TEST(WorkloadName, IsOneToSixtyThreeLettersDigitsHyphensAndUnderscores) {
  for (const std::string& text : {"W-1_x"s, "-"s, "_"s, "0"s, "z"s, "Z"s, "9"s, kLongest}) {
    SCOPED_TRACE(text);
    const auto name = parse_workload_name(text);
    ASSERT_TRUE(name.has_value());
    EXPECT_EQ(name->value, text);
  }
}

// [utest->swdd~api-workload-naming-convention~1]
TEST(WorkloadName, SaysWhatIsWrongWithOne) {
  for (const auto& [text, offence] : std::vector<std::pair<std::string, std::string>>{
           {"", "Is empty."},
           {"a b", "Expected to have characters in [a-zA-Z0-9_-]."},
           {kTooLong, "Length 64 exceeds the maximum limit of 63 characters."},
           {std::string(100, '.'), "Expected to have characters in [a-zA-Z0-9_-]."},
           {std::string(1000, 'c'), "Length 1000 exceeds the maximum limit of 63 characters."}}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(message_of(parse_workload_name(text)),
              concat("Unsupported workload name '", text, "'. ", offence));
  }
}

TEST(WorkloadName, HasNoOtherCharacters) {
  for (const auto& text : kIllFormed)
    EXPECT_EQ(
        parse_workload_name(text).error(),
        (Error{Code::kInvalidArgument, "Unsupported workload name '" + text +
                                           "'. Expected to have characters in [a-zA-Z0-9_-]."}));
}

// [utest->swdd~api-agent-naming-convention~1]
TEST(AgentName, MayBeEmptyAndOfAnyLength) {
  for (const std::string& text : {""s, "agent_A"s, kLongest, kTooLong, std::string(200, 'a')}) {
    SCOPED_TRACE(text);
    const auto name = parse_agent_name(text);
    ASSERT_TRUE(name.has_value());
    EXPECT_EQ(name->value, text);
  }
}

// [utest->swdd~api-agent-naming-convention~1]
TEST(AgentName, HasNoOtherCharacters) {
  for (const auto& text : kIllFormed)
    EXPECT_EQ(message_of(parse_agent_name(text)),
              "Unsupported agent name '" + text +
                  "'. Only a-z, A-Z, 0-9 chars, underscore (_), and hyphen (-) allowed. Maximum "
                  "length is 63 characters.");
}

using CheckName = Status (*)(std::string_view);

// [utest->swdd~api-config-item-key-naming-convention~1]
// [utest->swdd~api-config-aliases-and-config-reference-keys-naming-convention~1]
TEST(ConfigNames, AreOneToSixtyThreeLettersDigitsHyphensAndUnderscores) {
  for (const CheckName check : {check_config_item_key, check_config_alias, check_config_reference})
    for (const std::string& text : {"c"s, "C-1_x"s, kLongest})
      EXPECT_TRUE(check(text).has_value()) << text;
}

// [utest->swdd~api-config-item-key-naming-convention~1]
// [utest->swdd~api-config-aliases-and-config-reference-keys-naming-convention~1]
TEST(ConfigNames, HaveOneErrorTextForEachPlace) {
  std::vector<std::string> refused = kIllFormed;
  refused.insert(refused.end(), {"", kTooLong});
  for (const auto& [check, what] : std::vector<std::pair<CheckName, std::string>>{
           {check_config_item_key, "config item key"},
           {check_config_alias, "config alias"},
           {check_config_reference, "config reference key"}})
    for (const auto& text : refused)
      EXPECT_EQ(
          message_of(check(text)),
          concat("Unsupported ", what, " '", text,
                 "'. Only a-z, A-Z, 0-9 chars, underscore (_), and hyphen (-) allowed. Maximum "
                 "length is 63 characters."));
}

TEST(Names, AreTheirText) {
  EXPECT_EQ(to_string(WorkloadName{"nginx"}), "nginx");
  EXPECT_LT(WorkloadName{"a"}, WorkloadName{"b"});
  EXPECT_TRUE(AgentName{}.empty());
}

// [utest->swdd~api-workload-execution-instance-naming~1]
TEST(WorkloadId, IsTheHashOfTheWholeRuntimeConfig) {
  for (const auto& [runtime_config, id] : std::vector<std::pair<std::string, std::string>>{
           {"image: ghcr.io/eclipse-ankaios/tests/sleepy:latest",
            "f54d78fd9c57d2ec8ee16bb5571410d8370979784b2ae0dc7b645f01d9e2ee21"},
           {"generalOptions: [\"--version\"]\ncommandOptions: [\"--network=host\"]\n"
            "image: alpine:latest\ncommandArgs: [\"bash\"]",
            "78f601438bac8f126dae9b7b75f25b752610f70c02605fa5f348d416bd8ff5ce"},
           {"image: a", "2413bd72564c39454e7bef5e440780ffddf36b521e44cce64fc66c7e67d47ff5"},
           {" image: p ", "77e2f9cd4af9ad1c45156ea4c66522f50dbfb3bc25e92bc89816c04709abdcbc"}}) {
    SCOPED_TRACE(runtime_config);
    EXPECT_EQ(workload_id_of(runtime_config).value, id);
  }
}

// [utest->swdd~api-workload-execution-instance-naming~1]
TEST(InstanceName, IsWrittenAsWorkloadIdAndAgent) {
  EXPECT_EQ(to_string(InstanceName{{"nginx"}, {"0123abc"}, {"agent_A"}}), "nginx.0123abc.agent_A");
  EXPECT_EQ(to_string(InstanceName{{"nginx"}, {"0123abc"}, {}}), "nginx.0123abc.");
}

TEST(InstanceName, IsReadAsItWasWritten) {
  EXPECT_TRUE(rc::check([] {
    const InstanceName instance{*name_of_length<WorkloadName>(1, 63),
                                *name_of_length<WorkloadId>(1, 64),
                                *name_of_length<AgentName>(0, 80)};
    RC_ASSERT(parse_instance_name(to_string(instance)) == instance);
  }));
}

TEST(InstanceName, IsOrderedByWorkloadThenIdThenAgent) {
  const InstanceName first{{"a"}, {"2"}, {"z"}};
  EXPECT_LT(first, (InstanceName{{"b"}, {"1"}, {"a"}}));
  EXPECT_LT(first, (InstanceName{{"a"}, {"3"}, {"a"}}));
  EXPECT_GT(first, (InstanceName{{"a"}, {"2"}, {"y"}}));
}

TEST(InstanceName, SaysWhatIsWrongWithOne) {
  const std::string parts = "Expected <workload>.<id>.<agent>.";
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {"", "Unsupported instance name ''. " + parts},
           {"nginx", "Unsupported instance name 'nginx'. " + parts},
           {"nginx.1", "Unsupported instance name 'nginx.1'. " + parts},
           {"nginx.1.a.b", "Unsupported instance name 'nginx.1.a.b'. " + parts},
           {"..", "Unsupported workload name ''. Is empty."},
           {"n n.1.a",
            "Unsupported workload name 'n n'. Expected to have characters in [a-zA-Z0-9_-]."},
           {"nginx.1.a@b", concat("Unsupported agent name 'a@b'. ", kNameConstraint)},
           {"nginx..a", "Unsupported workload id ''. Expected characters in [a-zA-Z0-9_-]."},
           {"nginx.1*.a", "Unsupported workload id '1*'. Expected characters in [a-zA-Z0-9_-]."}}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(message_of(parse_instance_name(text)), error);
  }
}

}  // namespace
}  // namespace tiphys
