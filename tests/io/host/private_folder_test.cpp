#include "io/host/private_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/log.h"
#include "io/host/disk_cache.h"
#include "io/host/key_file.h"
#include "support/temp_folder.h"

namespace tapml {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> cached_bytes() {
  static constexpr std::string_view kText = "object code";
  return std::as_bytes(std::span(kText));
}

constexpr const char* kCachedName = "0123456789abcdef";

void set_mode(const std::string& path, mode_t mode) { ASSERT_EQ(::chmod(path.c_str(), mode), 0); }

TEST(PrivateFolder, OfThisUserAlone) {
  testing::TempFolder folder;
  fs::create_directories(folder / "a/b");
  EXPECT_FALSE(find_folder_fault(folder / "a/b"));
  EXPECT_FALSE(find_folder_fault(folder / "a/b/"));
  EXPECT_FALSE(find_folder_fault(folder / "a/not/there/yet"));
  testing::write_bytes(folder / "a/file", "");
  ASSERT_TRUE(find_folder_fault(folder / "a/file"));
  EXPECT_EQ(find_folder_fault(folder / "a/file")->reason, "it is not a folder");
  EXPECT_TRUE(find_folder_fault(folder / "a/file/b"));
}

TEST(PrivateFolder, NamesTheFolderThatOthersCanWriteTo) {
  testing::TempFolder folder;
  fs::create_directories(folder / "a/b");
  const std::map<mode_t, std::string> reasons = {{0770, "its group may write to "},
                                                 {0707, "everybody may write to "},
                                                 {0777, "everybody may write to "}};
  for (const auto& [mode, reason] : reasons) {
    for (const std::string& open : {folder / "a/b", folder / "a", folder.path()}) {
      set_mode(open, mode);
      const auto fault = find_folder_fault(folder / "a/b");
      ASSERT_TRUE(fault) << open;
      EXPECT_EQ(fault->folder, open);
      EXPECT_EQ(fault->reason, reason + open);
      EXPECT_EQ(fault->hint, "chmod go-w " + open);
      set_mode(open, 0700);
    }
  }
  // In a sticky folder, others cannot replace files that they do not own, but can add files.
  set_mode(folder / "a", 01777);
  EXPECT_FALSE(find_folder_fault(folder / "a/b"));
  EXPECT_TRUE(find_folder_fault(folder / "a"));
}

TEST(PrivateFolder, LinksAreFollowed) {
  testing::TempFolder folder;
  fs::create_directories(folder / "open/cache");
  fs::create_directory_symlink(folder / "open/cache", folder / "link");
  EXPECT_FALSE(find_folder_fault(folder / "link"));
  set_mode(folder / "open", 0777);
  ASSERT_TRUE(find_folder_fault(folder / "link"));
  EXPECT_EQ(find_folder_fault(folder / "link")->folder, folder / "open");
  // Whoever may replace the link decides where it leads.
  fs::create_directories(folder / "safe");
  fs::create_directory_symlink(folder / "safe", folder / "open/link");
  ASSERT_TRUE(find_folder_fault(folder / "open/link"));
  EXPECT_EQ(find_folder_fault(folder / "open/link")->folder, folder / "open");
}

TEST(PrivateFolder, OfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  testing::TempFolder folder;
  fs::create_directories(folder / "a/b");
  ASSERT_EQ(::chown((folder / "a").c_str(), 1, 1), 0);
  const auto fault = find_folder_fault(folder / "a/b");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->reason, folder / "a" + std::string(" belongs to another user"));
}

TEST(DiskCacheSafety, AFolderBelowAnOpenOneIsNotUsed) {
  testing::TempFolder folder;
  fs::create_directory(folder / "open");
  set_mode(folder / "open", 0777);
  std::vector<std::string> warnings;
  DiskCache cache(
      {folder / "open/cache", [&](const std::string& message) { warnings.push_back(message); }});
  for (int i = 0; i < 2; ++i) {
    cache.put(kCachedName, cached_bytes());
    EXPECT_FALSE(cache.get(kCachedName));
  }
  ASSERT_EQ(warnings.size(), 1U);
  const std::string open = folder / "open";
  EXPECT_EQ(warnings[0], "the compile cache " + open +
                             "/cache is not used: everybody may write to " + open +
                             "; chmod go-w " + open);
  EXPECT_FALSE(fs::exists(folder / "open/cache"));
  const Status checked = cache.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().hint, "chmod go-w " + open);
}

TEST(DiskCacheSafety, TheKeyIsThisUsersAlone) {
  testing::TempFolder folder;
  const std::string key = folder / "cache/key";
  {
    DiskCache cache({folder / "cache", {}});
    cache.put(kCachedName, cached_bytes());
  }
  struct stat info = {};
  ASSERT_EQ(::stat(key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  EXPECT_EQ(info.st_size, 32);
  const std::string bytes = testing::read_bytes(key);
  EXPECT_NE(bytes, std::string(32, '\0'));
  const auto expect_unused = [&](const std::string& reason) {
    std::vector<std::string> warnings;
    DiskCache cache(
        {folder / "cache", [&](const std::string& message) { warnings.push_back(message); }});
    EXPECT_FALSE(cache.get(kCachedName));
    ASSERT_EQ(warnings.size(), 1U) << reason;
    EXPECT_NE(warnings[0].find("its key file " + key + reason + "; rm " + key), std::string::npos)
        << warnings[0];
  };
  for (const mode_t mode : {0640, 0604, 0660, 0400, 0700}) {
    set_mode(key, mode);
    expect_unused(" does not have mode 0600");
  }
  set_mode(key, 0600);
  for (const std::string& other : {bytes + "x", bytes.substr(1), std::string()}) {
    testing::write_bytes(key, other);
    expect_unused(" does not have 32 bytes");
  }
  testing::write_bytes(key, bytes);
  EXPECT_TRUE(DiskCache({folder / "cache", {}}).get(kCachedName));
  fs::rename(key, folder / "cache/elsewhere");
  fs::create_symlink(folder / "cache/elsewhere", key);
  EXPECT_FALSE(DiskCache({folder / "cache", {}}).get(kCachedName));
}

// An entry with another owner's key is invalid, and so are entries older than a new key.
TEST(DiskCacheSafety, AnEntryOfAnotherKeyIsRemovedWithAWarning) {
  testing::TempFolder folder;
  for (const char* name : {"mine", "theirs"}) {
    DiskCache cache({folder / name, {}});
    cache.put(kCachedName, cached_bytes());
  }
  const std::string entry = "/v1/01/23456789abcdef";
  ASSERT_NE(testing::read_bytes(folder / "mine" + entry),
            testing::read_bytes(folder / "theirs" + entry));
  fs::copy_file(folder / "theirs" + entry, folder / "mine" + entry,
                fs::copy_options::overwrite_existing);
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  DiskCache cache({folder / "mine", {}});
  EXPECT_FALSE(cache.get(kCachedName));
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "an entry of the compile cache was altered and is removed: " +
                          (folder / "mine" + entry));
  EXPECT_FALSE(fs::exists(folder / "mine" + entry));
  cache.put(kCachedName, cached_bytes());
  EXPECT_TRUE(cache.get(kCachedName));
}

TEST(KeyFile, ProcessesAgree) {
  testing::TempFolder folder;
  std::vector<std::variant<HmacKey, std::string>> keys;
  for (int i = 0; i < 3; ++i) keys.push_back(open_key_file(folder / "key"));
  ASSERT_TRUE(std::holds_alternative<HmacKey>(keys[0]));
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]);
  EXPECT_NE(keys[0], open_key_file(folder / "other"));
  EXPECT_EQ(testing::names_under(folder.path()), (std::set<std::string>{"key", "other"}));
  EXPECT_TRUE(std::holds_alternative<std::string>(open_key_file(folder / "no/key")));
}

}  // namespace
}  // namespace tapml
