#include "io/link/security.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/strings.h"

namespace tiphys::link {
namespace {

constexpr const char* kSecret = "-----BEGIN PRIVATE KEY-----";

class SecurityTest : public ::testing::Test {
 public:
  SecurityTest() {
    std::string pattern = ::testing::TempDir() + "security-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    ca_ = file("ca.pem", "the authority", 0644);
    certificate_ = file("crt.pem", "the certificate", 0644);
    key_ = file("key.pem", kSecret, 0600);
  }
  ~SecurityTest() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string file(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  SecurityOptions all_files() {
    return {.ca = {.path = ca_}, .certificate = {.path = certificate_}, .key = {.path = key_}};
  }

  std::string folder_, ca_, certificate_, key_;
};

std::string error_of(const SecurityOptions& options) {
  const auto security = decide_security(options);
  return security ? "it is accepted" : to_string(security.error());
}

TEST_F(SecurityTest, ThreeFilesMeanTls) {
  const auto security = decide_security(all_files());
  ASSERT_TRUE(security) << to_string(security.error());
  ASSERT_TRUE(security->tls);
  EXPECT_EQ(security->tls->ca, "the authority");
  EXPECT_EQ(security->tls->certificate, "the certificate");
  EXPECT_EQ(security->tls->key, kSecret);
  EXPECT_TRUE(security->warnings.empty());
}

TEST_F(SecurityTest, ThreeFilesMeanTlsEvenIfInsecureIsAskedFor) {
  SecurityOptions options = all_files();
  options.insecure = true;
  const auto security = decide_security(options);
  ASSERT_TRUE(security) << to_string(security.error());
  EXPECT_TRUE(security->tls);
  EXPECT_EQ(security->warnings,
            std::vector<std::string>{"Insecure and secure flags specified at the same time. "
                                     "Defaulting to secure communication."});
}

TEST_F(SecurityTest, NothingButInsecureMeansPlainText) {
  const auto security = decide_security({.insecure = true});
  ASSERT_TRUE(security) << to_string(security.error());
  EXPECT_FALSE(security->tls);
  EXPECT_TRUE(security->warnings.empty());
}

TEST_F(SecurityTest, AnEmptyPathOrContentCountsAsNotGiven) {
  const auto security = decide_security(
      {.insecure = true, .ca = {.path = ""}, .certificate = {.content = ""}, .key = {.path = ""}});
  ASSERT_TRUE(security) << to_string(security.error());
  EXPECT_FALSE(security->tls);
}

TEST_F(SecurityTest, ContentServesAsWellAndAPathReplacesIt) {
  SecurityOptions options = all_files();
  options.ca = {.content = "inline authority"};
  options.key.content = "replaced by the path";
  const auto security = decide_security(options);
  ASSERT_TRUE(security) << to_string(security.error());
  EXPECT_EQ(security->tls->ca, "inline authority");
  EXPECT_EQ(security->tls->key, kSecret);
}

TEST_F(SecurityTest, NothingAtAllIsAnError) {
  const auto security = decide_security({});
  ASSERT_FALSE(security);
  EXPECT_EQ(security.error().kind, SecurityError::Kind::kMissing);
  EXPECT_EQ(
      to_string(security.error()),
      "Missing certificate files: 'Either provide mTLS config via the '--ca_pem \"\"', '--crt_pem "
      "\"\"' and '--key_pem \"\"' options or deactivate mTLS with the '--insecure' option!'");
}

TEST_F(SecurityTest, AnIncompleteSetSaysWhatIsMissingAndNeverShowsContent) {
  for (const bool insecure : {false, true}) {
    SCOPED_TRACE(insecure);
    EXPECT_EQ(
        error_of({.insecure = insecure, .ca = {.path = ca_}, .key = {.content = kSecret}}),
        concat("Missing certificate files: 'Either provide mTLS config via the '--ca_pem ", ca_,
               "', '--crt_pem \"\"' and '--key_pem <content in the config file>' options or "
               "deactivate mTLS with the '--insecure' option! Not given: --crt_pem.",
               insecure ? " '--insecure' counts only when no certificate is given.'" : "'"));
  }
}

TEST_F(SecurityTest, AFileThatCannotBeUsedIsNamed) {
  SecurityOptions options = all_files();
  options.certificate.path = folder_ + "/absent";
  const std::string absent = concat("Certificate error: 'Error during opening the given file \"",
                                    folder_, "/absent\": No such file or directory (os error 2)'");
  EXPECT_EQ(error_of(options), concat("Failed to load certificate files!: '", absent, "'"));

  options.certificate.path_of_config_file = true;
  EXPECT_EQ(error_of(options), concat("Config file could not be parsed: 'Certificate could not "
                                      "have been read due to: ",
                                      absent, "'"));
}

TEST_F(SecurityTest, AKeyThatOthersCanReadIsRefused) {
  SecurityOptions options = all_files();
  options.key.path = file("loose.pem", kSecret, 0644);
  const auto security = decide_security(options);
  ASSERT_FALSE(security);
  EXPECT_EQ(security.error().kind, SecurityError::Kind::kUnreadable);
  EXPECT_EQ(security.error().message,
            concat("Certificate error: 'Private key file \"", *options.key.path,
                   "\" has insecure permissions 644. Private keys must have permissions 0600 or "
                   "0400. Use 'chmod 0600 <file>' to fix this.'"));
}

}  // namespace
}  // namespace tiphys::link
