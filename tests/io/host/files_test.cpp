#include "io/host/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

namespace tapml {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tapml-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string at(const std::string& name) const { return (folder / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  fs::path folder;
};

TEST_F(FilesTest, WriteThenReadAndMap) {
  std::string text = "line\n";
  text += '\0';
  text += "end";
  ASSERT_TRUE(write_text_atomic(at("a.txt"), text));
  EXPECT_EQ(read_text_file(at("a.txt")).value(), text);
  auto mapped = map_file(at("a.txt"));
  ASSERT_TRUE(mapped);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->bytes.data()), mapped->bytes.size()),
            text);
  // The mapping outlives the name.
  fs::remove(at("a.txt"));
  EXPECT_EQ(static_cast<char>(mapped->bytes[0]), 'l');
  EXPECT_EQ(entries(), 0u);
}

TEST_F(FilesTest, EmptyFile) {
  ASSERT_TRUE(write_text_atomic(at("empty"), ""));
  EXPECT_EQ(map_file(at("empty"))->bytes.size(), 0u);
  EXPECT_EQ(read_text_file(at("empty")).value(), "");
}

TEST_F(FilesTest, ReadingMissingFiles) {
  for (const Error& error : {map_file(at("no")).error(), read_text_file(at("no")).error()}) {
    EXPECT_EQ(error.kind, ErrorKind::kUser);
    EXPECT_EQ(error.message, at("no") + " does not exist");
  }
  EXPECT_EQ(map_file(folder.string()).error().found, "a folder");
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(at("pipe")).error().found, "a device, pipe or socket");
}

TEST_F(FilesTest, TextSizeLimit) {
  ASSERT_TRUE(write_text_atomic(at("a"), "12345"));
  EXPECT_TRUE(read_text_file(at("a"), 5));
  Error error = read_text_file(at("a"), 4).error();
  EXPECT_EQ(error.message, at("a") + " is too large");
  EXPECT_EQ(error.expected, "at most 4 bytes");
}

TEST_F(FilesTest, ReplacingKeepsNothingOfTheOldFileAndNoTemporary) {
  ASSERT_TRUE(write_text_atomic(at("a"), "a much longer text"));
  ASSERT_TRUE(write_text_atomic(at("a"), "short"));
  EXPECT_EQ(read_text_file(at("a")).value(), "short");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FilesTest, NewFilesHaveTheUsualPermissions) {
  mode_t mask = umask(022);
  ASSERT_TRUE(write_text_atomic(at("a"), "x"));
  umask(mask);
  struct stat info = {};
  ASSERT_EQ(stat(at("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST_F(FilesTest, WritingWhereNothingCanBeWritten) {
  Error missing = write_text_atomic(at("no/a"), "x").error();
  EXPECT_EQ(missing.kind, ErrorKind::kUser);
  EXPECT_EQ(missing.message, "cannot write " + at("no/a") + ": its folder does not exist");

  ASSERT_TRUE(make_folder(at("sub/inner")));
  Error folder_error = write_text_atomic(at("sub"), "x").error();
  EXPECT_EQ(folder_error.message, "cannot write " + at("sub") + ": it is a folder");

  ASSERT_TRUE(write_text_atomic(at("file"), "x"));
  EXPECT_EQ(write_text_atomic(at("file/a"), "x").error().kind, ErrorKind::kUser);
  EXPECT_EQ(entries(), 2u);

  // Root may write anywhere except where the kernel refuses.
  Error refused = write_text_atomic("/proc/tapml-cannot-be", "x").error();
  EXPECT_EQ(refused.kind, ErrorKind::kUser);
  EXPECT_EQ(refused.message, "cannot write /proc/tapml-cannot-be");
  EXPECT_EQ(refused.expected, "a folder that can be written");
}

TEST_F(FilesTest, UnwritableFolder) {
  // Root may write anywhere, so the test drops root's rights for a moment.
  bool root = geteuid() == 0;
  fs::permissions(folder, fs::perms(0555));
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  Status status = write_text_atomic(at("a"), "x");
  Status made = make_folder(at("sub"));
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(folder, fs::perms::owner_all);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::kUser);
  ASSERT_FALSE(status);
  Error error = status.error();
  EXPECT_EQ(error.message, "cannot write " + at("a"));
  EXPECT_EQ(error.found, "Permission denied");
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_EQ(error.expected, "a folder that can be written");
}

TEST_F(FilesTest, AFullDiskLeavesTheOldFileAndIsAPlatformError) {
  ASSERT_TRUE(write_text_atomic(at("a"), "old"));
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = write_text_atomic(at("a"), std::string(5000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kPlatform);
  EXPECT_EQ(status.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_EQ(read_text_file(at("a")).value(), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FilesTest, WritersAtTheSameTimeLeaveOneWholeFile) {
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'e'; ++c) {
    writers.emplace_back([this, c] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(write_text_atomic(at("a"), std::string(100000, c)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::string text = read_text_file(at("a")).value();
  EXPECT_EQ(text, std::string(100000, text[0]));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FilesTest, MakeFolder) {
  EXPECT_TRUE(make_folder(at("x/y/z")));
  EXPECT_TRUE(make_folder(at("x/y/z")));
  EXPECT_TRUE(make_folder(at("x/y/z/")));
  ASSERT_TRUE(write_text_atomic(at("file"), "x"));
  EXPECT_EQ(make_folder(at("file")).error().kind, ErrorKind::kUser);
  EXPECT_EQ(make_folder(at("file/sub")).error().message,
            "cannot make the folder " + at("file/sub"));
  EXPECT_FALSE(make_folder(""));
}

TEST_F(FilesTest, RelativePathsWithoutAFolder) {
  fs::path before = fs::current_path();
  fs::current_path(folder);
  EXPECT_TRUE(write_text_atomic("plain.txt", "x"));
  EXPECT_EQ(read_text_file("plain.txt").value(), "x");
  fs::current_path(before);
}

}  // namespace
}  // namespace tapml
