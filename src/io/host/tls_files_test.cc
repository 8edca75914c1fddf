#include "io/host/tls_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/strings.h"

namespace tiphys::host {
namespace {

class TlsFilesTest : public ::testing::Test {
 public:
  TlsFilesTest() {
    std::string pattern = ::testing::TempDir() + "tls-files-XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~TlsFilesTest() override { std::filesystem::remove_all(folder); }

 protected:
  std::string file(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder + "/" + name;
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  std::string folder;
};

TEST_F(TlsFilesTest, ReadsTheThreeFiles) {
  const auto material = read_tls_files({.ca = file("ca", "the authority", 0644),
                                        .certificate = file("crt", "the certificate", 0444),
                                        .key = file("key", "the key", 0400)});
  ASSERT_TRUE(material) << material.error().message;
  EXPECT_EQ(material->ca, "the authority");
  EXPECT_EQ(material->certificate, "the certificate");
  EXPECT_EQ(material->key, "the key");
}

TEST_F(TlsFilesTest, APathThatIsNotGivenStaysEmpty) {
  const auto material = read_tls_files({.key = file("key", "the key", 0600)});
  ASSERT_TRUE(material) << material.error().message;
  EXPECT_EQ(material->ca, "");
  EXPECT_EQ(material->certificate, "");
  EXPECT_EQ(material->key, "the key");
}

TEST_F(TlsFilesTest, AcceptsAKeyThatOnlyItsOwnerReads) {
  for (const mode_t mode : {0600U, 0400U}) {
    SCOPED_TRACE(mode);
    EXPECT_TRUE(read_tls_files({.key = file("key", "x", mode)}));
  }
}

TEST_F(TlsFilesTest, RefusesAKeyWithAnyOtherMode) {
  for (const auto& [mode, octal] : std::vector<std::pair<mode_t, std::string>>{
           {0644, "644"}, {0640, "640"}, {0700, "700"}, {0604, "604"}, {0440, "440"}}) {
    SCOPED_TRACE(octal);
    const std::string path = file("key" + octal, "secret", mode);
    const auto material = read_tls_files({.key = path});
    ASSERT_FALSE(material);
    EXPECT_EQ(material.error().message,
              concat("Private key file \"", path, "\" has insecure permissions ", octal,
                     ". Private keys must have permissions 0600 or 0400. Use 'chmod 0600 <file>' "
                     "to fix this."));
  }
}

TEST_F(TlsFilesTest, AcceptsACertificateThatOnlyItsOwnerWrites) {
  for (const mode_t mode : {0644U, 0600U, 0444U, 0400U, 0640U, 0604U}) {
    SCOPED_TRACE(mode);
    EXPECT_TRUE(read_tls_files({.certificate = file("crt", "x", mode)}));
    EXPECT_TRUE(read_tls_files({.ca = file("crt", "x", mode)}));
  }
}

TEST_F(TlsFilesTest, RefusesACertificateThatOthersWriteOrAnyoneExecutes) {
  for (const auto& [mode, octal] : std::vector<std::pair<mode_t, std::string>>{
           {0664, "664"}, {0646, "646"}, {0744, "744"}, {0654, "654"}, {0645, "645"}}) {
    SCOPED_TRACE(octal);
    const std::string path = file("crt" + octal, "x", mode);
    const std::string expected = concat(
        "Certificate file \"", path, "\" has insecure permissions ", octal,
        ". Certificates must have permissions 0600 or 0400. Use 'chmod 0600 <file>' to fix this.");
    for (const TlsFiles& files : {TlsFiles{.ca = path}, TlsFiles{.certificate = path}}) {
      const auto material = read_tls_files(files);
      ASSERT_FALSE(material);
      EXPECT_EQ(material.error().message, expected);
    }
  }
}

TEST_F(TlsFilesTest, NamesTheFileThatIsMissing) {
  const std::string path = folder + "/nope.pem";
  const auto material = read_tls_files({.ca = path});
  ASSERT_FALSE(material);
  EXPECT_EQ(material.error(),
            (Error{Code::kNotFound, "Error during opening the given file \"" + path +
                                        "\": No such file or directory (os "
                                        "error 2)"}));
}

TEST_F(TlsFilesTest, RefusesWhatIsNoRegularFile) {
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto from_fifo = read_tls_files({.key = fifo});
  ASSERT_FALSE(from_fifo);
  EXPECT_EQ(from_fifo.error().message,
            "Error during reading the given file \"" + fifo + "\": it is not a regular file");

  const std::string below = folder + "/below";
  ASSERT_TRUE(std::filesystem::create_directory(below));
  ASSERT_EQ(::chmod(below.c_str(), 0755), 0);
  const auto from_folder = read_tls_files({.certificate = below});
  ASSERT_FALSE(from_folder);
  EXPECT_NE(from_folder.error().message.find("insecure permissions 755"), std::string::npos);
}

TEST_F(TlsFilesTest, ReadsAMebibyteAndNotMore) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
  EXPECT_TRUE(read_tls_files({.ca = file("most", std::string(kMebibyte, 'x'), 0600)}));
  const std::string path = file("more", std::string(kMebibyte + 1, 'x'), 0600);
  const auto material = read_tls_files({.ca = path});
  ASSERT_FALSE(material);
  EXPECT_EQ(material.error().message, "Error during reading the given file \"" + path +
                                          "\": it is longer than 1 MiB, which no PEM file needs");
}

}  // namespace
}  // namespace tiphys::host
