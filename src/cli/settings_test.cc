#include "cli/settings.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tiphys::cli {
namespace {

using std::chrono::milliseconds;

ConfigFile file_of(const std::string& text) { return parse_config_file(text, "ank.conf").value(); }

TEST(Settings, HaveDefaults) {
  const Settings settings = settings_of({}, {});
  EXPECT_EQ(settings.server_url, "https://127.0.0.1:25551");
  EXPECT_EQ(settings.response_timeout, milliseconds(3000));
  EXPECT_FALSE(settings.verbose || settings.quiet || settings.no_wait ||
               settings.security.insecure);
}

TEST(Settings, TakeTheFileWhereNothingElseIsGiven) {
  const auto file = file_of(
      "version = 'v1'\nserver_url = 'u'\nresponse_timeout = 5\nverbose = true\nno_wait = true\n"
      "insecure = true\nca_pem = 'ca'\ncrt_pem_content = 'crt'\n");
  const Settings settings = settings_of({}, file);
  EXPECT_EQ(settings.server_url, "u");
  EXPECT_EQ(settings.response_timeout, milliseconds(5));
  EXPECT_TRUE(settings.verbose && settings.no_wait && settings.security.insecure);
  EXPECT_EQ(settings.security.ca.path, "ca");
  EXPECT_TRUE(settings.security.ca.path_of_config_file);
  EXPECT_EQ(settings.security.certificate.content, "crt");

  GivenOptions given;
  given.server_url = "v";
  given.response_timeout_ms = 6;
  given.insecure = false;
  given.crt_pem = "path";
  const Settings overridden = settings_of(given, file);
  EXPECT_EQ(overridden.server_url, "v");
  EXPECT_EQ(overridden.response_timeout, milliseconds(6));
  EXPECT_FALSE(overridden.security.insecure);
  EXPECT_EQ(overridden.security.certificate.path, "path");
  EXPECT_FALSE(overridden.security.certificate.content);
}

TEST(Settings, QuietWinsOverVerbose) {
  GivenOptions given;
  given.verbose = true;
  const Settings settings = settings_of(given, file_of("version = 'v1'\nquiet = true\n"));
  EXPECT_TRUE(settings.quiet);
  EXPECT_FALSE(settings.verbose);
}

TEST(Settings, KeepATimeoutThatAClockCanCount) {
  GivenOptions given;
  given.response_timeout_ms = ~std::uint64_t{0};
  EXPECT_GT(std::chrono::steady_clock::now() + settings_of(given, {}).response_timeout,
            std::chrono::steady_clock::now());
}

TEST(ConfigFile, LetsTheTopLevelWinOverTheDefaultTable) {
  const auto file = file_of(
      "server_url = 'top'\nfoo = 1\n[default]\nversion = 'v1'\nserver_url = 'table'\ninsecure = "
      "true\n");
  EXPECT_EQ(file.server_url, "top");
  EXPECT_EQ(file.insecure, true);
}

TEST(ConfigFile, SaysWhatIsWrongWithIt) {
  const std::string parsing = "Config file could not have been parsed due to: ank.conf: ";
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", parsing + "missing field `version`"},
           {"version = 'v2'", "Wrong version: v2"},
           {"version = 1", parsing + "version: expected a string, found a number"},
           {"version = 'v1'\ninsecure = 'x'",
            parsing + "insecure: expected true or false, found a string"},
           {"version = 'v1'\ndefault = 1", parsing + "Expected 'default' to be a table"},
           {"version = 'v1'\n[default]\nresponse_timeout = 'x'",
            parsing + "response_timeout: expected a number, found a string"},
           {"version = 'v1'\nca_pem = 'a'\nca_pem_content = 'b'",
            "Conflicting certificates: Certificate paths and certificate content are both set"}}) {
    SCOPED_TRACE(text);
    const auto file = parse_config_file(text, "ank.conf");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message, "Config file could not be parsed: '" + expected + "'");
  }
  const auto broken = parse_config_file("version = v1", "ank.conf");
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().message.starts_with("Config file could not be parsed: '" + parsing +
                                                 "line 1, column 1"));
}

}  // namespace
}  // namespace tiphys::cli
