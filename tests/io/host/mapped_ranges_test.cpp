#include "io/host/mapped_ranges.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "io/host/files.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"

namespace tapml {
namespace {

constexpr size_t kMappedSize = 64 << 10;

size_t zeros_in(std::span<const std::byte> bytes) {
  return static_cast<size_t>(std::ranges::count(bytes, std::byte{0}));
}

TEST(MappedRanges, AFileThatIsCutReadsAsZerosAndIsAnError) {
  testing::TempFolder folder;
  const std::string path = folder / "weights";
  testing::write_bytes(path, std::string(kMappedSize, 'w'));
  auto mapped = map_file(path);
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(check_mapped_files());
  ASSERT_EQ(::truncate(path.c_str(), 16 << 10), 0);
  EXPECT_TRUE(check_lost_files());  // nothing was read yet
  EXPECT_EQ(zeros_in(mapped->bytes), kMappedSize - (16 << 10));
  for (const Status& status : {check_lost_files(), check_mapped_files()}) {
    ASSERT_FALSE(status);
    const Error& error = status.error();
    EXPECT_EQ(error.kind, ErrorKind::kUser);
    EXPECT_EQ(error.message, "a file changed while it was in use: " + path);
    EXPECT_EQ(error.where, path);
    EXPECT_EQ(error.expected, "65536 bytes, unchanged");
    EXPECT_EQ(error.found, "16384 bytes");
    EXPECT_NE(error.hint.find("work on a copy"), std::string::npos);
  }
  // It is reported once more when the mapping is released, and not again.
  mapped->owner.reset();
  EXPECT_FALSE(check_lost_files());
  EXPECT_TRUE(check_lost_files());
  EXPECT_TRUE(check_mapped_files());
}

TEST(MappedRanges, AFileThatIsWrittenInPlaceIsAnError) {
  testing::TempFolder folder;
  const std::string path = folder / "weights";
  testing::write_bytes(path, std::string(kMappedSize, 'w'));
  {
    auto mapped = map_file(path);
    ASSERT_TRUE(mapped);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a tick of the file's clock
    testing::write_bytes(path, std::string(kMappedSize, 'v'));
    const Status status = check_mapped_files();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().found, "65536 bytes, modified meanwhile");
    EXPECT_TRUE(check_lost_files());
  }
  EXPECT_TRUE(check_mapped_files());
}

// The mapping does not change: a name is not the file.
TEST(MappedRanges, AFileThatIsReplacedByNameStaysValid) {
  testing::TempFolder folder;
  const std::string path = folder / "weights";
  testing::write_bytes(path, std::string(kMappedSize, 'w'));
  auto mapped = map_file(path);
  ASSERT_TRUE(mapped);
  ASSERT_TRUE(write_text_atomic(path, "short"));
  EXPECT_TRUE(check_mapped_files());
  EXPECT_EQ(zeros_in(mapped->bytes), 0U);
  std::filesystem::remove(path);
  EXPECT_TRUE(check_mapped_files());
}

TEST(MappedRanges, ManyMappingsAndThreads) {
  testing::TempFolder folder;
  const std::string path = folder / "weights", other = folder / "other";
  testing::write_bytes(path, std::string(kMappedSize, 'w'));
  testing::write_bytes(other, std::string(kMappedSize, 'o'));
  std::vector<MappedFile> files;
  for (int i = 0; i < 600; ++i) files.push_back(map_file(i == 599 ? path : other).value());
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  std::atomic<size_t> zeros = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { zeros += zeros_in(files.back().bytes); });
    }
  }
  EXPECT_EQ(zeros, 4 * kMappedSize);
  EXPECT_EQ(zeros_in(files.front().bytes), 0U);
  ASSERT_FALSE(check_lost_files());
  EXPECT_EQ(check_lost_files().error().where, path);
  files.clear();
  EXPECT_FALSE(check_lost_files());
}

// The signal that ends a child process that runs `work`; 0 if it finishes.
int signal_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(MappedRanges, OtherFaultsKeepTheirSignal) {
  if (testing::kSanitized) GTEST_SKIP() << "a sanitizer has its own signal handler";
  testing::TempFolder folder;
  const std::string path = folder / "weights";
  testing::write_bytes(path, std::string(kMappedSize, 'w'));
  auto mapped = map_file(path);
  ASSERT_TRUE(mapped);
  EXPECT_EQ(signal_of([] { ::raise(SIGBUS); }), SIGBUS);
  EXPECT_EQ(signal_of([&] {
              const int fd = ::open(path.c_str(), O_RDWR);
              auto* unwatched = static_cast<volatile char*>(
                  ::mmap(nullptr, kMappedSize, PROT_READ, MAP_PRIVATE, fd, 0));
              if (::ftruncate(fd, 0) != 0) ::_exit(1);
              if (unwatched[0] == 'w') ::_exit(0);
            }),
            SIGBUS);
  EXPECT_TRUE(check_lost_files());
}

}  // namespace
}  // namespace tapml
