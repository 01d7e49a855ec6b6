#include "io/host/scratch_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "io/host/files.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, IsPrivateAndGoesWithItsContent) {
  std::string path;
  {
    auto folder = ScratchFolder::create("test");
    ASSERT_TRUE(folder);
    const ScratchFolder kept = std::move(*folder);
    path = kept.path();
    EXPECT_NE(path.find("/tapml-test-"), std::string::npos);
    EXPECT_EQ(fs::status(path).permissions() & fs::perms::all, fs::perms::owner_all);
    ASSERT_TRUE(write_text_atomic(kept.file("a"), "text"));
    EXPECT_TRUE(fs::exists(path + "/a"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, UsesTmpWithoutTheSystemsFolder) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  const auto folder = ScratchFolder::create("test");
  if (before) {
    ::setenv("TMPDIR", kept.c_str(), 1);
  } else {
    ::unsetenv("TMPDIR");
  }
  // A folder for temporary files that does not exist is replaced by /tmp.
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->path().starts_with("/tmp/tapml-test-"));
}

}  // namespace
}  // namespace tapml
