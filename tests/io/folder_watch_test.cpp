#include "io/host/folder_watch.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace tapml {
namespace {

TEST(FolderWatch, SeesWhatIsSaved) {
  const testing::TempFolder folder;
  auto watch = FolderWatch::open(folder / ".");
  ASSERT_TRUE(watch) << watch.error().to_string();
  EXPECT_TRUE((*watch)->wait(std::chrono::milliseconds(0)).empty());
  testing::write_bytes(folder / "a.cl", "1");
  EXPECT_EQ((*watch)->wait(std::chrono::seconds(60)), std::vector<std::string>{"a.cl"});
  // Editors save like this: another file takes the name.
  testing::write_bytes(folder / "b", "2");
  std::filesystem::rename(folder / "b", folder / "a.cl");
  EXPECT_EQ((*watch)->wait(std::chrono::seconds(60)), (std::vector<std::string>{"b", "a.cl"}));
  EXPECT_TRUE((*watch)->wait(std::chrono::milliseconds(0)).empty());
}

TEST(FolderWatch, OfNoFolderIsRefused) {
  const testing::TempFolder folder;
  testing::write_bytes(folder / "file", "");
  for (const char* name : {"none", "file"}) {
    auto watch = FolderWatch::open(folder / name);
    ASSERT_FALSE(watch);
    EXPECT_EQ(watch.error().kind, ErrorKind::kUser);
  }
}

}  // namespace
}  // namespace tapml
