#include "io/file_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "io/host/folder_source.h"
#include "support/temp_folder.h"

namespace tapml {
namespace {

// Both kinds of sources, with the same files.
class FileSources : public ::testing::Test {
 protected:
  FileSources() : memory_("model"), disk_(folder_.path()) {
    std::filesystem::create_directory(folder_ / "more");
    for (const char* name : {"a.json", "more/b.txt", "more/c.txt"}) {
      memory_.add(name, "text");
      testing::write_bytes(folder_ / name, "text");
    }
  }

  testing::TempFolder folder_;
  MemoryFiles memory_;
  FolderSource disk_;
};

TEST_F(FileSources, GiveTheSameFiles) {
  for (const FileSource* source :
       {static_cast<const FileSource*>(&memory_), static_cast<const FileSource*>(&disk_)}) {
    EXPECT_TRUE(source->has("a.json"));
    EXPECT_FALSE(source->has("b.txt"));
    const auto text = source->read("more/b.txt");
    ASSERT_TRUE(text) << text.error().to_string();
    EXPECT_EQ(*text, "text");
    std::vector<std::string> names = source->list("more");
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"more/b.txt", "more/c.txt"}));
    EXPECT_TRUE(source->list("none").empty());
    const auto missing = source->read("none.json");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::kUser);
    EXPECT_NE(missing.error().message.find(source->path_of("none.json")), std::string::npos);
    EXPECT_FALSE(source->read("a.json", 3)) << "larger than asked for";
  }
}

}  // namespace
}  // namespace tapml
