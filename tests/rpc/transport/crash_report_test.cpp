// The crash handler of a session's process and mapped files: weights that shrink are no crash.
#include "rpc/transport/crash_report.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/host/files.h"
#include "io/host/mapped_ranges.h"
#include "support/temp_folder.h"

namespace tapml::rpc {
namespace {

constexpr size_t kBytes = 64 << 10;

// In a process of its own, whose exit status it returns: a file shrinks under its mapping.
int read_shrunk_file(const std::string& file, CrashReport& report, bool mapped_first) {
  const pid_t process = ::fork();
  if (process == 0) {
    Result<MappedFile> mapped = fail(user_error("not mapped"));
    if (mapped_first) mapped = map_file(file);
    install_crash_handler(report);
    if (!mapped_first) mapped = map_file(file);
    if (!mapped || ::truncate(file.c_str(), 4096) != 0) ::_exit(2);
    const volatile std::byte* bytes = mapped->bytes.data();
    if (bytes[0] != std::byte{'x'} || bytes[kBytes - 1] != std::byte{0}) ::_exit(3);
    const Status lost = check_lost_files();
    ::_exit(!lost && lost.error().message.find(file) != std::string::npos ? 0 : 4);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  return status;
}

TEST(CrashHandler, AMappedFileThatShrinksIsReportedWithoutACrash) {
  void* page = ::mmap(nullptr, sizeof(CrashReport), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* report = new (page) CrashReport();
  const testing::TempFolder folder;
  const std::string file = folder / "model.safetensors";
  for (bool mapped_first : {true, false}) {
    testing::write_bytes(file, std::string(kBytes, 'x'));
    const int status = read_shrunk_file(file, *report, mapped_first);
    EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(report->signal.load(), 0);
  }
  ::munmap(page, sizeof(CrashReport));
}

}  // namespace
}  // namespace tapml::rpc
