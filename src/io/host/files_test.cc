#include "io/host/files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace tiphys::host {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 public:
  FilesTest() {
    std::string pattern = ::testing::TempDir() + "files-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FilesTest() override { fs::remove_all(folder_); }

 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_))
      found.insert(entry.path().filename().string());
    return found;
  }

  std::string folder_;
};

std::string content_of(const std::string& path) {
  const auto text = read_file(path, FileKind::kRegular);
  return text ? *text : concat("not readable: ", text.error().message);
}

TEST_F(FilesTest, AFileIsReplacedAndNothingElseIsLeft) {
  for (const std::string text : {"first", "", "a longer second text"}) {
    const auto written = replace_file(path("file"), text);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(content_of(path("file")), text);
    EXPECT_EQ(names(), std::set<std::string>{"file"});
  }
}

TEST_F(FilesTest, MissingFoldersAreMade) {
  ASSERT_TRUE(replace_file(path("a/b/c/file"), "text"));
  EXPECT_EQ(content_of(path("a/b/c/file")), "text");
}

TEST_F(FilesTest, PermissionsOfTheOldFileStay) {
  ASSERT_TRUE(replace_file(path("file"), "old"));
  ASSERT_EQ(::chmod(path("file").c_str(), 0600), 0);
  ASSERT_TRUE(replace_file(path("file"), "new"));
  EXPECT_EQ(fs::status(path("file")).permissions(), fs::perms(0600));
}

TEST_F(FilesTest, ALinkIsReplacedAndWhatItPointsToStays) {
  ASSERT_TRUE(replace_file(path("other"), "other"));
  fs::create_symlink("other", path("file"));
  ASSERT_TRUE(replace_file(path("file"), "new"));
  EXPECT_EQ(content_of(path("other")), "other");
  EXPECT_EQ(content_of(path("file")), "new");
}

TEST_F(FilesTest, AWriteThatFailsLeavesTheOldBytesAndNoTemporary) {
  ASSERT_TRUE(replace_file(path("file"), "old"));
  // A limit on file sizes stands in for a full disk.
  EXPECT_EXIT(
      {
        ::signal(SIGXFSZ, SIG_IGN);
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = 4096;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const auto written = replace_file(path("file"), std::string(10'000, 'x'));
        ::_exit(!written && written.error().message ==
                                concat("\"", path("file"), "\": File too large (os error 27)")
                    ? 0
                    : 1);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(content_of(path("file")), "old");
  EXPECT_EQ(names(), std::set<std::string>{"file"});
}

TEST_F(FilesTest, ErrorsNameThePathAndTheReason) {
  ASSERT_TRUE(replace_file(path("file"), "text"));
  fs::create_directory(path("folder"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);

  const auto below_a_file = replace_file(path("file/below"), "text");
  ASSERT_FALSE(below_a_file);
  EXPECT_EQ(below_a_file.error().message,
            concat("\"", path("file"), "\": Not a directory (os error 20)"));
  const auto over_a_folder = replace_file(path("folder"), "text");
  ASSERT_FALSE(over_a_folder);
  EXPECT_EQ(over_a_folder.error().message,
            concat("\"", path("folder"), "\": Is a directory (os error 21)"));

  const auto missing = read_file(path("missing"), FileKind::kRegular);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(),
            (Error{Code::kNotFound,
                   concat("\"", path("missing"), "\": No such file or directory (os error 2)")}));
  EXPECT_EQ(content_of(path("folder")),
            concat("not readable: \"", path("folder"), "\": Is a directory (os error 21)"));
  EXPECT_EQ(content_of(path("fifo")),
            concat("not readable: \"", path("fifo"), "\": it is not a regular file"));
}

TEST_F(FilesTest, ATreeIsRemovedWithoutFollowingLinks) {
  ASSERT_TRUE(replace_file(path("kept/file"), "kept"));
  ASSERT_TRUE(replace_file(path("tree/a/b/file"), "gone"));
  fs::create_directory_symlink(path("kept"), path("tree/a/link"));
  ASSERT_TRUE(remove_tree(path("tree")));
  EXPECT_EQ(names(), std::set<std::string>{"kept"});
  EXPECT_EQ(content_of(path("kept/file")), "kept");

  fs::create_directory_symlink(path("kept"), path("link"));
  ASSERT_TRUE(remove_tree(path("link")));
  EXPECT_EQ(content_of(path("kept/file")), "kept");
  EXPECT_TRUE(remove_tree(path("never there")));
}

// Does the work at once and answers when told to.
class FakeWorkers final : public shell::Workers {
 public:
  void run(std::function<void()> work, std::function<void()> done) override {
    work();
    answer = std::move(done);
  }
  std::function<void()> answer;
};

TEST_F(FilesTest, ThePortWorksElsewhereAndAnswersOnce) {
  FakeWorkers workers;
  DiskFiles files(workers);
  std::vector<std::string> told;
  const auto tell = [&](const Status& status) {
    told.push_back(status ? "done" : status.error().message);
  };

  files.write(path("port/file"), "text", tell);
  EXPECT_TRUE(told.empty());
  workers.answer();
  files.read(path("port/file"),
             [&](const Result<std::string>& text) { told.push_back(text ? *text : "failed"); });
  workers.answer();
  files.remove_tree(path("port"), tell);
  workers.answer();
  files.read(path("port/file"), [&](const Result<std::string>& text) {
    told.push_back(text ? "still there" : std::string(to_string(text.error().code)));
  });
  workers.answer();
  EXPECT_EQ(told, (std::vector<std::string>{"done", "text", "done",
                                            std::string(to_string(Code::kNotFound))}));
}

}  // namespace
}  // namespace tiphys::host
