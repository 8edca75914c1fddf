#include "io/folders/disk_folders.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/host/files.h"
#include "shell/strand.h"

namespace tiphys::folders {
namespace {

namespace fs = std::filesystem;
using shell::Mount;

constexpr const char* kNoFile = "Failed to create workload file: '";

// Work waits until the test lets it run, in whatever order.
class HeldWorkers final : public shell::Workers {
 public:
  void run(std::function<void()> work, std::function<void()> done) override {
    waiting.emplace_back(std::move(work), std::move(done));
  }
  void finish(std::size_t index) {
    const auto [work, done] = std::move(waiting.at(index));
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(index));
    work();
    done();
  }
  void finish_all() {
    while (!waiting.empty()) finish(0);
  }

  std::deque<std::pair<std::function<void()>, std::function<void()>>> waiting;
};

WorkloadSpecPtr spec_of(std::vector<File> files, const std::string& name = "web",
                        const std::string& id = "id") {
  auto workload = std::make_shared<Workload>();
  workload->files = std::move(files);
  return WorkloadSpec::unchecked({WorkloadName{name}, WorkloadId{id}, AgentName{"agent_A"}},
                                 workload);
}

File text(std::string mount_point, std::string content) {
  return {std::move(mount_point), File::Encoding::kText, std::move(content)};
}

class DiskFoldersTest : public ::testing::Test {
 public:
  DiskFoldersTest() {
    fs::create_directories(agent());
    fs::create_directories(place_ + "/outside/files");
    EXPECT_TRUE(host::replace_file(place_ + "/outside/files/precious", "precious"));
  }
  ~DiskFoldersTest() override { fs::remove_all(place_); }

 protected:
  [[nodiscard]] std::string agent() const { return place_ + "/run/agent_A_io"; }
  [[nodiscard]] std::string files() const { return agent() + "/web.id/files"; }
  // Everything below the agent's folder: files with their content, folders with nothing.
  [[nodiscard]] std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(agent())) {
      const auto content = host::read_file(entry.path().string(), host::FileKind::kRegular);
      found[fs::relative(entry.path(), agent()).string()] =
          entry.is_regular_file() && content ? *content : "";
    }
    return found;
  }
  [[nodiscard]] bool is_outside_untouched() const {
    const auto content =
        host::read_file(place_ + "/outside/files/precious", host::FileKind::kRegular);
    return content && *content == "precious" &&
           std::distance(fs::recursive_directory_iterator(place_ + "/outside"),
                         fs::recursive_directory_iterator()) == 2;
  }
  Result<std::vector<Mount>> written(const WorkloadSpecPtr& spec) {
    Result<std::vector<Mount>> answer = fail(Code::kUnknown, "no answer");
    folders.write_files(spec,
                        [&](Result<std::vector<Mount>> mounts) { answer = std::move(mounts); });
    workers.finish_all();
    return answer;
  }
  std::string refusal(const WorkloadSpecPtr& spec) {
    const auto mounts = written(spec);
    return mounts ? "all is written" : mounts.error().message;
  }
  std::string removed(const InstanceName& instance, bool only_files) {
    std::string answer = "no answer";
    const auto sink = [&](const Status& status) {
      answer = status ? "done" : status.error().message;
    };
    if (only_files)
      folders.remove_files(instance, sink);
    else
      folders.remove(instance, sink);
    workers.finish_all();
    return answer;
  }

  static std::string new_folder() {
    std::string pattern = ::testing::TempDir() + "disk-folders-XXXXXX";
    return ::mkdtemp(pattern.data());
  }

  const std::string place_ = new_folder();
  HeldWorkers workers;
  DiskFolders folders{workers, agent()};
  const InstanceName web = spec_of({})->instance();
};

TEST_F(DiskFoldersTest, FilesStandWhereTheirMountPointsSayAndAreMountedReadOnly) {
  const auto mounts = written(spec_of({text("/etc/b.conf", "a=1\nb=2\n"),
                                       {"/b.bin", File::Encoding::kBase64, " AAEC\n/w==\n"},
                                       text("/a//./c", "c"),
                                       text("/empty", "")}));
  ASSERT_TRUE(mounts) << mounts.error().message;
  EXPECT_EQ(*mounts, (std::vector<Mount>{{files() + "/a/c", "/a//./c", true},
                                         {files() + "/b.bin", "/b.bin", true},
                                         {files() + "/empty", "/empty", true},
                                         {files() + "/etc/b.conf", "/etc/b.conf", true}}));
  EXPECT_EQ(tree(), (std::map<std::string, std::string>{
                        {"web.id", ""},
                        {"web.id/files", ""},
                        {"web.id/files/a", ""},
                        {"web.id/files/a/c", "c"},
                        {"web.id/files/b.bin", std::string("\x00\x01\x02\xff", 4)},
                        {"web.id/files/empty", ""},
                        {"web.id/files/etc", ""},
                        {"web.id/files/etc/b.conf", "a=1\nb=2\n"}}));
}

TEST_F(DiskFoldersTest, OfSeveralFilesWithOnePlaceTheLastOneIsThere) {
  const auto mounts = written(spec_of({text("/a", "first"), text("//a", "last")}));
  ASSERT_TRUE(mounts) << mounts.error().message;
  EXPECT_EQ(*mounts, (std::vector<Mount>{{files() + "/a", "//a", true}}));
  EXPECT_EQ(tree().at("web.id/files/a"), "last");
}

TEST_F(DiskFoldersTest, WhatIsThereIsWrittenOver) {
  ASSERT_TRUE(written(spec_of({text("/a", "a much longer old content"), text("/b", "b")})));
  ASSERT_TRUE(written(spec_of({text("/a", "new")})));
  EXPECT_EQ(tree().at("web.id/files/a"), "new");
  EXPECT_EQ(tree().at("web.id/files/b"), "b");
}

TEST_F(DiskFoldersTest, AThousandFiles) {
  std::vector<File> many;
  many.reserve(1000);
  for (int i = 0; i < 1000; ++i)
    many.push_back(text(concat("/d", std::to_string(i % 10), "/f", std::to_string(i)), "x"));
  const auto mounts = written(spec_of(std::move(many)));
  ASSERT_TRUE(mounts) << mounts.error().message;
  EXPECT_EQ(mounts->size(), 1000U);
  EXPECT_EQ(tree().size(), 1012U);
  EXPECT_EQ(removed(web, false), "done");
  EXPECT_EQ(tree().size(), 0U);
}

TEST_F(DiskFoldersTest, AFileThatIsRefusedLeavesNoFiles) {
  struct Row {
    std::vector<File> given;
    std::string text;
    bool has_begun;  // a folder had been made by then
  };
  for (const auto& [given, why, has_begun] : std::vector<Row>{
           {{text("/etc/", "x")},
            "invalid mount point '/etc/': ''/etc/' is a directory, expected a file''",
            false},
           {{text("/a", "x"), text("b", "x")},
            "invalid mount point 'b': 'path 'b' is relative, expected absolute path''",
            true},
           {{text("/a", "x"), {"/b", File::Encoding::kBase64, "AAE"}},
            "invalid base64 data in '/b': 'Invalid padding''",
            true},
           {{text("/a", "x"), text("/a/b", "y")},
            concat("failed to create workload file directory structure for '/a/b': 'Could not "
                   "create directory \"",
                   files(), "/a\": entity already exists''"),
            true},
           {{text("/a", "x"), text("/a/b/c", "y")},
            concat("failed to create workload file directory structure for '/a/b/c': 'Could not "
                   "create directory \"",
                   files(), "/a/b\": not a directory''"),
            true},
           {{text("/a/b", "x"), text("/a", "y")},
            concat("write failed for '/a': 'Could not write to \"", files(),
                   "/a\"  IsADirectory''"),
            true},
           {{text("/a", "x"), text(concat("/", std::string(300, 'n')), "y")},
            concat("write failed for '/", std::string(300, 'n'), "': 'Could not write to \"",
                   files(), "/", std::string(300, 'n'), "\": File name too long (os error 36)''"),
            true}}) {
    SCOPED_TRACE(why);
    EXPECT_EQ(refusal(spec_of(given)), concat(kNoFile, why));
    EXPECT_EQ(tree(), has_begun ? (std::map<std::string, std::string>{{"web.id", ""}})
                                : (std::map<std::string, std::string>{}));
    EXPECT_EQ(removed(web, false), "done");
  }
}

TEST_F(DiskFoldersTest, AnOldFileInPlaceOfAFolderIsNamedAndGone) {
  fs::create_directories(files());
  ASSERT_TRUE(host::replace_file(files() + "/a", "x"));
  EXPECT_EQ(refusal(spec_of({text("/a/b", "new")})),
            concat(kNoFile,
                   "failed to create workload file directory structure for '/a/b': 'Could "
                   "not create directory \"",
                   files(), "/a\": entity already exists''"));
  EXPECT_EQ(refusal(spec_of({text("/a/b", "new")})), "all is written");
}

TEST_F(DiskFoldersTest, LinksOnTheWayAreNotFollowed) {
  const auto outside = place_ + "/outside";
  const auto refused = [&](const std::string& link) {
    return concat(kNoFile,
                  "failed to create workload file directory structure for '/a/b': 'Could "
                  "not create directory \"",
                  link, "\": it is a symbolic link, which is not followed; remove it''");
  };
  fs::create_directories(files());
  fs::create_symlink(outside, files() + "/a");
  EXPECT_EQ(refusal(spec_of({text("/a/b", "x")})), refused(files() + "/a"));
  EXPECT_TRUE(is_outside_untouched());

  fs::create_directories(files() + "/a");
  fs::create_symlink(outside + "/files/precious", files() + "/a/b");
  EXPECT_EQ(refusal(spec_of({text("/a/b", "x")})),
            concat(kNoFile, "write failed for '/a/b': 'Could not write to \"", files(),
                   "/a/b\": it is a symbolic link, which is not followed; remove it''"));
  EXPECT_TRUE(is_outside_untouched());

  fs::remove_all(files());
  fs::create_symlink(outside + "/files", files());
  EXPECT_EQ(refusal(spec_of({text("/a/b", "x")})), refused(files()));
  EXPECT_TRUE(is_outside_untouched());

  fs::remove_all(agent() + "/web.id");
  fs::create_symlink(outside, agent() + "/web.id");
  EXPECT_EQ(refusal(spec_of({text("/a/b", "x")})), refused(agent() + "/web.id"));
  EXPECT_TRUE(is_outside_untouched());
  EXPECT_NE(removed(web, true), "done");
  EXPECT_TRUE(is_outside_untouched());
  EXPECT_EQ(removed(web, false), "done");
  EXPECT_TRUE(is_outside_untouched());
  EXPECT_EQ(tree().size(), 0U);

  fs::remove_all(agent());
  fs::create_symlink(outside, agent());
  EXPECT_EQ(refusal(spec_of({text("/a/b", "x")})), refused(agent()));
  EXPECT_NE(removed(web, false), "done");
  EXPECT_TRUE(is_outside_untouched());
}

TEST_F(DiskFoldersTest, AnIdThatLeadsElsewhereIsRefused) {
  for (const std::string id : {"/../../outside", "x/../../../outside"}) {
    const auto spec = spec_of({text("/a", "x")}, "web", id);
    EXPECT_EQ(refusal(spec),
              concat(kNoFile,
                     "failed to create workload file directory structure for '/a': 'Could "
                     "not create directory \"web.",
                     id, "\" in \"", agent(), "\": it is not the name of a file''"));
    EXPECT_NE(removed(spec->instance(), true), "done");
    EXPECT_NE(removed(spec->instance(), false), "done");
  }
  EXPECT_NE(removed(spec_of({}, "", ".")->instance(), false), "done");
  EXPECT_TRUE(is_outside_untouched());
  EXPECT_TRUE(fs::exists(agent()));
}

TEST_F(DiskFoldersTest, FilesGoAloneOrWithTheWholeFolder) {
  ASSERT_TRUE(written(spec_of({text("/a/b", "x")})));
  fs::create_directory(agent() + "/web.id/control_interface");
  ASSERT_TRUE(written(spec_of({text("/a", "x")}, "other")));
  EXPECT_EQ(removed(web, true), "done");
  EXPECT_EQ(removed(web, true), "done");
  EXPECT_TRUE(fs::exists(agent() + "/web.id/control_interface"));
  EXPECT_FALSE(fs::exists(files()));
  EXPECT_EQ(removed(web, false), "done");
  EXPECT_EQ(removed(web, false), "done");
  EXPECT_EQ(removed(web, true), "done");
  EXPECT_EQ(tree(), (std::map<std::string, std::string>{
                        {"other.id", ""}, {"other.id/files", ""}, {"other.id/files/a", "x"}}));
}

TEST_F(DiskFoldersTest, TheFolderOfTheAgentIsMadeAnewWhenItGotLost) {
  fs::remove_all(agent());
  EXPECT_EQ(removed(web, true), "done");
  EXPECT_EQ(removed(web, false), "done");
  const auto mounts = written(spec_of({text("/a", "x")}));
  ASSERT_TRUE(mounts) << mounts.error().message;
  EXPECT_EQ(mounts->front().host_path, files() + "/a");
  fs::remove_all(place_ + "/run");
  EXPECT_EQ(refusal(spec_of({text("/a", "x")})),
            concat(kNoFile,
                   "failed to create workload file directory structure for '/a': 'Could "
                   "not create directory \"",
                   place_, "/run/.\": No such file or directory (os error 2)''"));
}

TEST_F(DiskFoldersTest, WhatIsAskedForOneWorkloadIsDoneInOrder) {
  std::vector<std::string> answers;
  const auto note = [&](const std::string& what) {
    return [&answers, what](const auto& answer) {
      answers.push_back(what + (answer ? "" : " failed"));
    };
  };
  folders.write_files(spec_of({text("/a", "1")}), note("write"));
  folders.remove(web, note("remove"));
  folders.write_files(spec_of({text("/a", "2")}), note("write again"));
  folders.write_files(spec_of({text("/a", "x")}, "other"), note("other"));
  ASSERT_EQ(workers.waiting.size(), 2U) << "one of each workload";
  workers.finish(1);
  EXPECT_EQ(answers, (std::vector<std::string>{"other"}));
  workers.finish_all();
  EXPECT_EQ(answers, (std::vector<std::string>{"other", "write", "remove", "write again"}));
  EXPECT_EQ(tree().at("web.id/files/a"), "2");
}

TEST_F(DiskFoldersTest, WorkersWriteAndTheStrandIsTold) {
  shell::CoreThread core;
  shell::WorkerThreads threads(core, 2);
  DiskFolders on_threads(threads, agent());
  std::promise<void> all;
  int open = 20;
  core.post([&] {
    for (int i = 0; i < 20; ++i)
      on_threads.write_files(
          spec_of({text("/a", std::to_string(i))}, concat("w", std::to_string(i % 4))),
          [&](const Result<std::vector<Mount>>& mounts) {
            EXPECT_TRUE(mounts);
            if (--open == 0) all.set_value();
          });
  });
  all.get_future().wait();
  core.stop();
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(tree().at(concat("w", std::to_string(i), ".id/files/a")), std::to_string(16 + i));
}

// -- What takes a file system or a user of its own ------------------------------------------------------------------

// Runs the check in a process of its own with mounts of its own; its words come back.
std::string in_own_namespace(const std::function<std::string()>& check) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    std::string said;
    if (::unshare(CLONE_NEWNS | (::getuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      said = "no mounts of its own: " + host::system_message(errno);
    else
      try {
        said = check();
      } catch (const std::exception& error) {
        said = error.what();
      }
    const bool told = ::write(ends[1], said.data(), said.size()) >= 0;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said(1 << 16, '\0');
  std::size_t length = 0;
  for (ssize_t count = 0;
       (count = ::read(ends[0], said.data() + length, said.size() - length)) > 0;)
    length += static_cast<std::size_t>(count);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  said.resize(length);
  return status == 0 ? said : said + " (it ended badly)";
}

TEST_F(DiskFoldersTest, AFullDiskIsTheReason) {
  const auto said = in_own_namespace([&]() -> std::string {
    if (::mount("tmpfs", agent().c_str(), "tmpfs", 0, "size=64k") != 0)
      return "no tmpfs: " + host::system_message(errno);
    std::string text_of_state =
        refusal(spec_of({text("/a", "x"), text("/b", std::string(1 << 20, 'x'))}));
    if (!fs::is_empty(agent() + "/web.id")) text_of_state += " and something is left";
    return text_of_state + "; " + refusal(spec_of({text("/a", "x")}));
  });
  EXPECT_EQ(said, concat(kNoFile, "write failed for '/b': 'Could not write to \"", files(),
                         "/b\": No space left on device (os error 28)''; all is written"));
}

TEST_F(DiskFoldersTest, NoRoomForAFolderIsTheReason) {
  const auto said = in_own_namespace([&]() -> std::string {
    if (::mount("tmpfs", agent().c_str(), "tmpfs", 0, "nr_inodes=3") != 0)
      return "no tmpfs: " + host::system_message(errno);
    return refusal(spec_of({text("/a/b", "x")}));
  });
  EXPECT_EQ(said, concat(kNoFile,
                         "failed to create workload file directory structure for '/a/b': 'Could "
                         "not create directory \"",
                         files(), "/a\": No space left on device (os error 28)''"));
}

TEST_F(DiskFoldersTest, ADiskThatCannotBeWrittenIsTheReason) {
  ASSERT_TRUE(written(spec_of({text("/a", "x")})));
  const auto said = in_own_namespace([&]() -> std::string {
    if (::mount(agent().c_str(), agent().c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        ::mount(nullptr, agent().c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return "no read-only folder: " + host::system_message(errno);
    return refusal(spec_of({text("/a", "y")})) + "; " + removed(web, false);
  });
  EXPECT_EQ(said, concat(kNoFile, "write failed for '/a': 'Could not write to \"", files(),
                         "/a\": Read-only file system (os error 30)''; \"", agent(),
                         "/web.id\": Read-only file system (os error 30)"));
  EXPECT_EQ(tree().at("web.id/files/a"), "x");
}

TEST_F(DiskFoldersTest, WhatIsMountedBelowIsNotEmptied) {
  fs::create_directories(agent() + "/web.id/control_interface/mounted");
  const auto said = in_own_namespace([&]() -> std::string {
    const std::string mounted = agent() + "/web.id/control_interface/mounted";
    if (::mount((place_ + "/outside").c_str(), mounted.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return "no mount: " + host::system_message(errno);
    return removed(web, false);
  });
  EXPECT_EQ(said,
            concat("\"", agent(),
                   "/web.id/control_interface/mounted\": Device or resource busy (os error 16)"));
  EXPECT_TRUE(is_outside_untouched());
}

}  // namespace
}  // namespace tiphys::folders
