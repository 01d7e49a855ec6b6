#include "io/host/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "support/temp_folder.h"

namespace tapml {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string key(int number) {
  std::string text = std::to_string(number);
  return "0123456789abcdef" + std::string(8 - text.size(), '0') + text;
}

// Spread over several folders.
std::string spread_key(int number) { return std::to_string(10 + number % 90) + key(number); }

TEST(DiskCache, KeepsAndFinds) {
  testing::TempFolder folder;
  {
    DiskCache cache({folder / "cache", {}});
    EXPECT_FALSE(cache.get(key(1)));
    cache.put(key(1), bytes_of("one"));
    cache.put(key(2), {});
    EXPECT_EQ(cache.get(key(1)), bytes_of("one"));
    EXPECT_EQ(cache.get(key(2)), bytes_of(""));
    cache.put(key(1), bytes_of("another"));
    EXPECT_EQ(cache.get(key(1)), bytes_of("another"));
    EXPECT_FALSE(cache.get("../../etc/passwd"));
    EXPECT_EQ(cache.hits(), 3);
    EXPECT_EQ(cache.misses(), 1);
  }
  DiskCache again({folder / "cache", {}});
  EXPECT_EQ(again.get(key(1)), bytes_of("another"));
  DiskCache::Summary summary = again.summary();
  EXPECT_EQ(summary.entries, 2);
  EXPECT_EQ(summary.hits, 4);
  EXPECT_EQ(summary.misses, 1);
  struct stat info = {};
  ASSERT_EQ(::stat((folder / "cache").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(again.clear().value(), 2);
  EXPECT_FALSE(again.get(key(1)));
  EXPECT_EQ(again.summary().entries, 0);
}

TEST(DiskCache, ReportsUnusableFolders) {
  testing::TempFolder folder;
  EXPECT_TRUE(DiskCache({folder / "not/there/yet", {}}).check());
  EXPECT_FALSE(std::filesystem::exists(folder / "not"));
  testing::write_bytes(folder / "file", "");
  Status file = DiskCache({folder / "file", {}}).check();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kUser);
  EXPECT_EQ(file.error().found, "it is not a folder");
  Status none = DiskCache({"", {}}).check();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().found, "no folder for it is known");
}

std::string only_entry(const std::string& folder) {
  std::string found;
  for (const std::string& name : testing::names_under(folder + "/v1")) {
    if (name.size() > 3) found = folder + "/v1/" + name;
  }
  return found;
}

TEST(DiskCache, AlteredEntriesAreDropped) {
  testing::TempFolder folder;
  DiskCache cache({folder / "cache", {}});
  cache.put(key(1), bytes_of("some bytes"));
  const std::string path = only_entry(folder / "cache"), good = testing::read_bytes(path);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    testing::write_bytes(path, bad);
    EXPECT_FALSE(cache.get(key(1))) << "byte " << i;
    EXPECT_FALSE(std::filesystem::exists(path));
    testing::write_bytes(path, good.substr(0, i));
    EXPECT_FALSE(cache.get(key(1))) << "cut at " << i;
  }
  // An entry under another key's name.
  cache.put(key(1), bytes_of("some bytes"));
  cache.put(key(2), bytes_of("other bytes"));
  std::string other = path;
  other.back() = '2';
  std::filesystem::copy_file(path, other, std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.get(key(2)));
  EXPECT_TRUE(cache.get(key(1)));
}

TEST(DiskCache, LeastRecentlyUsedGoFirst) {
  testing::TempFolder folder;
  DiskCache cache({folder / "cache", {}});
  for (int i = 0; i < 10; ++i) {
    cache.put(key(i), std::vector<std::byte>(1000));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(cache.get(key(0)));  // used now
  ASSERT_TRUE(cache.set_max_bytes(3500));
  EXPECT_EQ(cache.summary().entries, 3);
  EXPECT_LE(cache.summary().bytes, 3500);
  EXPECT_TRUE(cache.get(key(0)));
  EXPECT_FALSE(cache.get(key(1)));
  EXPECT_TRUE(cache.get(key(9)));
  // The bound also holds for later users of the cache.
  {
    DiskCache later({folder / "cache", {}});
    EXPECT_EQ(later.summary().max_bytes, 3500);
    later.put(key(20), std::vector<std::byte>(3000));
  }
  EXPECT_LE(cache.summary().bytes, 3500);
  EXPECT_TRUE(cache.get(key(20)));
}

TEST(DiskCache, UnusableFoldersWarnOnce) {
  testing::TempFolder folder;
  testing::write_bytes(folder / "file", "");
  std::filesystem::create_directory(folder / "open");
  std::filesystem::permissions(folder / "open", std::filesystem::perms::all);
  for (const std::string& path :
       {folder / "file/cache", folder / "file", std::string(), folder / "open"}) {
    std::vector<std::string> warnings;
    DiskCache cache({path, [&](const std::string& message) { warnings.push_back(message); }});
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(cache.get(key(i)));
      cache.put(key(i), bytes_of("x"));
    }
    ASSERT_EQ(warnings.size(), 1u) << path;
    EXPECT_NE(warnings[0].find("is not used"), std::string::npos) << warnings[0];
  }
}

// For a cache that has key(1) and cannot store anything else.
bool reads_on_and_warns_once(const std::string& path) {
  int warnings = 0;
  bool well = true;
  {
    DiskCache cache({path, [&](const std::string&) { ++warnings; }});
    well &= cache.get(key(1)) == bytes_of("one");
    cache.put(key(2), bytes_of("two"));
    cache.put(key(3), bytes_of("three"));
    well &= !cache.get(key(2)) && cache.get(key(1)) == bytes_of("one");
  }
  return well && warnings == 1;
}

// No byte fits: existing entries are still read, and no partial file remains.
TEST(DiskCache, FullDisk) {
  testing::TempFolder folder;
  {
    DiskCache cache({folder / "cache", {}});
    cache.put(key(1), bytes_of("one"));
  }
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit none = {16, 16};
    setrlimit(RLIMIT_FSIZE, &none);
    _exit(reads_on_and_warns_once(folder / "cache") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(testing::names_under(folder / "cache/v1").size(), 2u);  // a folder and its entry
}

// Existing entries are still read, and there is only one warning.
TEST(DiskCache, AReadOnlyFolder) {
  constexpr uid_t kNobody = 65534;  // root writes everywhere
  namespace fs = std::filesystem;
  testing::TempFolder folder;
  {
    DiskCache cache({folder / "cache", {}});
    cache.put(key(1), bytes_of("one"));
  }
  std::vector<std::string> folders = {folder.path()};
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (geteuid() == 0) {
      ASSERT_EQ(lchown(entry.path().c_str(), kNobody, kNobody), 0);
    }
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  if (geteuid() == 0) {
    ASSERT_EQ(lchown(folder.path().c_str(), kNobody, kNobody), 0);
  }
  for (const std::string& path : folders) chmod(path.c_str(), 0500);
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);
    _exit(reads_on_and_warns_once(folder / "cache") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (const std::string& path : folders) chmod(path.c_str(), 0700);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(testing::names_under(folder / "cache/v1").size(), 2u);  // a folder and its entry
}

// Concurrent processes and threads; some are killed midway.
TEST(DiskCache, ManyWriters) {
  testing::TempFolder folder;
  auto content = [](int number) { return bytes_of(std::string(2000, 'a' + number % 26)); };
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    pid_t child = fork();
    if (child == 0) {
      DiskCache cache({folder / "cache", {}});
      bool well = true;
      for (int round = 0; round < 1000; ++round) {
        int number = (round * 7 + p) % 40;
        auto found = cache.get(spread_key(number));
        well &= !found || *found == content(number);
        cache.put(spread_key(number), content(number));
      }
      _exit(well ? 0 : 1);
    }
    children.push_back(child);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(children[0], SIGKILL);
  {
    DiskCache cache({folder / "cache", {}});
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int number = 0; number < 40; ++number) {
          cache.put(spread_key(number), content(number));
          auto found = cache.get(spread_key(number));
          EXPECT_TRUE(!found || *found == content(number));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    waitpid(children[i], &status, 0);
    if (i > 0) {
      EXPECT_EQ(status, 0);
    }
  }
  DiskCache cache({folder / "cache", {}});
  for (int number = 0; number < 40; ++number) {
    EXPECT_EQ(cache.get(spread_key(number)), content(number)) << number;
  }
}

TEST(DiskCache, DefaultFolder) {
  setenv("XDG_CACHE_HOME", "/some/where", 1);
  EXPECT_EQ(default_cache_folder(), "/some/where/tapml");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_cache_folder(), "/home/me/.cache/tapml");
}

}  // namespace
}  // namespace tapml
