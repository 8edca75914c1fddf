#include "io/host/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "io/host/files.h"

namespace tiphys::host {
namespace {

namespace fs = std::filesystem;

class FolderTest : public ::testing::Test {
 public:
  FolderTest() {
    std::string pattern = ::testing::TempDir() + "folder-XXXXXX";
    place_ = ::mkdtemp(pattern.data());
    fs::create_directory(path("inside"));
    fs::create_directory(path("outside"));
    write("outside/precious", "precious");
    folder_ = std::make_unique<Folder>(*Folder::open(path("inside")));
  }
  ~FolderTest() override { fs::remove_all(place_); }

 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return place_ + "/" + name; }
  [[nodiscard]] std::string inside(const std::string& name) const { return path("inside/") + name; }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(replace_file(path(name), text));
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    const auto text = read_file(path(name), FileKind::kRegular);
    return text ? *text : concat("not readable: ", text.error().message);
  }

  std::string place_;
  std::unique_ptr<Folder> folder_;
};

std::string text_of(const Status& status) { return status ? "done" : status.error().message; }
std::string text_of(const Result<Folder>& folder) {
  return folder ? folder->path() : folder.error().message;
}

TEST_F(FolderTest, AFileIsWrittenOverInPlace) {
  ASSERT_TRUE(folder_->write("file", "a much longer old content"));
  const Descriptor open(::open(inside("file").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(folder_->write("file", "new"));
  EXPECT_EQ(read("inside/file"), "new");
  std::string seen(10, ' ');
  seen.resize(static_cast<std::size_t>(::read(open.number(), seen.data(), seen.size())));
  EXPECT_EQ(seen, "new") << "who has the file open sees the same one";
  ASSERT_TRUE(folder_->write("file", ""));
  EXPECT_EQ(read("inside/file"), "");
}

TEST_F(FolderTest, FoldersAreMadeAndEntered) {
  EXPECT_EQ(folder_->enter("a").error().code, Code::kNotFound);
  const auto made = folder_->make("a");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->path(), inside("a"));
  ASSERT_TRUE(made->write("file", "text"));
  EXPECT_EQ(text_of(folder_->make("a")), inside("a"));
  EXPECT_EQ(text_of(folder_->enter("a")), inside("a"));
  EXPECT_EQ(read("inside/a/file"), "text");
}

TEST_F(FolderTest, ModesAreThoseThatTheProcessGives) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(folder_->make("a"));
  ASSERT_TRUE(folder_->write("file", ""));
  ::umask(before);
  EXPECT_EQ(fs::status(inside("a")).permissions(), fs::perms(0750));
  EXPECT_EQ(fs::status(inside("file")).permissions(), fs::perms(0640));
}

TEST_F(FolderTest, NamesThatLeadElsewhereAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../outside"),
        std::string("/etc"), std::string("a/b"), std::string("a\0b", 3)}) {
    SCOPED_TRACE(name);
    for (const auto& text : {text_of(folder_->enter(name)), text_of(folder_->make(name)),
                             text_of(folder_->write(name, "x")), text_of(folder_->remove(name))})
      EXPECT_EQ(text,
                concat("\"", name, "\" in \"", path("inside"), "\": it is not the name of a file"));
  }
  EXPECT_EQ(read("outside/precious"), "precious");
}

TEST_F(FolderTest, LinksAreNotFollowed) {
  fs::create_symlink(path("outside"), inside("link"));
  fs::create_symlink(path("outside/precious"), inside("file"));
  fs::create_symlink(path("outside/fresh"), inside("dangling"));
  const auto refused = [&](const std::string& name) {
    return concat("\"", inside(name),
                  "\": it is a symbolic link, which is not followed; remove it");
  };
  EXPECT_EQ(text_of(folder_->enter("link")), refused("link"));
  EXPECT_EQ(text_of(folder_->make("link")), refused("link"));
  EXPECT_EQ(text_of(folder_->write("link", "x")), refused("link"));
  EXPECT_EQ(text_of(folder_->write("file", "x")), refused("file"));
  EXPECT_EQ(text_of(folder_->write("dangling", "x")), refused("dangling"));
  EXPECT_EQ(text_of(folder_->make("dangling")), refused("dangling"));
  EXPECT_EQ(read("outside/precious"), "precious");
  EXPECT_FALSE(fs::exists(path("outside/fresh")));
  fs::create_symlink(path("inside"), path("way"));
  EXPECT_EQ(
      text_of(Folder::open(path("way"))),
      concat("\"", path("way"), "\": it is a symbolic link, which is not followed; remove it"));
}

TEST_F(FolderTest, WhatIsOfAnotherKindIsToldApart) {
  fs::create_directory(inside("folder"));
  write("inside/file", "x");
  ASSERT_EQ(::mkfifo(inside("pipe").c_str(), 0600), 0);
  for (const Status& status :
       std::vector<Status>{folder_->write("folder", "x"), folder_->write("pipe", "x")}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kAlreadyExists) << status.error().message;
  }
  for (const std::string name : {"file", "pipe"}) {
    EXPECT_EQ(folder_->enter(name).error().code, Code::kAlreadyExists);
    EXPECT_EQ(folder_->make(name).error().code, Code::kAlreadyExists);
  }
  EXPECT_EQ(Folder::open(inside("file")).error().code, Code::kAlreadyExists);
  EXPECT_EQ(Folder::open(inside("nothing")).error().code, Code::kNotFound);
}

TEST_F(FolderTest, AllThatAFolderHoldsIsRemovedAndNothingElse) {
  ASSERT_TRUE(folder_->write("neighbour", "stays"));
  fs::create_directories(inside("tree/a/b/c"));
  write("inside/tree/a/file", "x");
  fs::create_symlink(path("outside"), inside("tree/a/link"));
  fs::create_symlink("nowhere", inside("tree/dangling"));
  ASSERT_EQ(::mkfifo(inside("tree/pipe").c_str(), 0600), 0);
  for (int i = 0; i < 1000; ++i) write(concat("inside/tree/a/b/", std::to_string(i)), "x");
  EXPECT_EQ(text_of(folder_->remove("tree")), "done");
  EXPECT_FALSE(fs::exists(inside("tree")));
  EXPECT_EQ(read("inside/neighbour"), "stays");
  EXPECT_EQ(read("outside/precious"), "precious");
}

TEST_F(FolderTest, ALinkAFileAndNothingAreRemovedToo) {
  fs::create_symlink(path("outside"), inside("link"));
  write("inside/file", "x");
  for (const std::string name : {"link", "file", "nothing"})
    EXPECT_EQ(text_of(folder_->remove(name)), "done");
  EXPECT_TRUE(fs::is_empty(path("inside")));
  EXPECT_EQ(read("outside/precious"), "precious");
}

// Deeper than there are descriptors, and than any path may be long.
TEST_F(FolderTest, NoDepthIsTooDeepToRemove) {
  constexpr int kDepth = 6000;
  ASSERT_TRUE(folder_->make("top"));
  auto deepest = folder_->enter("top");
  for (int i = 0; i < kDepth; ++i) deepest = deepest->make("deep-0");
  ASSERT_TRUE(deepest->write("file", "x"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{128, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto removed = folder_->remove("top");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(text_of(removed), "done");
  EXPECT_TRUE(fs::is_empty(path("inside")));
}

}  // namespace
}  // namespace tiphys::host
