#include "io/host/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/host/files.h"
#include "ir/exceptions.h"
#include "support/temp_folder.h"

namespace tapml {
namespace {

std::span<const std::byte> piece_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

int64_t files_in(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(AtomicFile, AppearsOnceItIsWhole) {
  testing::TempFolder folder;
  const std::string path = folder / "file";
  {
    const auto file = unwrap(AtomicFile::create(path));
    unwrap(file->write(piece_of("one ")));
    EXPECT_FALSE(std::filesystem::exists(path));
    unwrap(file->write(piece_of("two")));
    unwrap(file->commit());
    EXPECT_EQ(unwrap(read_text_file(path)), "one two");
  }
  EXPECT_EQ(unwrap(read_text_file(path)), "one two");
  EXPECT_EQ(files_in(folder / ""), 1);
}

TEST(AtomicFile, LeavesNothingAndTheOldFile) {
  testing::TempFolder folder;
  const std::string path = folder / "file";
  unwrap(write_text_atomic(path, "old"));
  {
    const auto file = unwrap(AtomicFile::create(path));
    unwrap(file->write(piece_of("half")));
  }
  EXPECT_EQ(unwrap(read_text_file(path)), "old");
  EXPECT_EQ(files_in(folder / ""), 1);
}

TEST(AtomicFile, RefusesFoldersAndWhatIsNotThere) {
  testing::TempFolder folder;
  const auto no_file = AtomicFile::create(folder / "");
  ASSERT_FALSE(no_file);
  EXPECT_NE(no_file.error().to_string().find("it is a folder"), std::string::npos);
  const auto no_folder = AtomicFile::create(folder / "none/file");
  ASSERT_FALSE(no_folder);
  EXPECT_EQ(no_folder.error().kind, ErrorKind::kUser);
  EXPECT_NE(no_folder.error().to_string().find("does not exist"), std::string::npos);
}

}  // namespace
}  // namespace tapml
