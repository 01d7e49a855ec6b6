#include "device/watched/output_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tapml::device {

namespace {

constexpr size_t kShown = 200;  // bytes of the output to show

int64_t bytes_of(int file) {
  struct stat status = {};
  return ::fstat(file, &status) == 0 ? status.st_size : 0;
}

void clear(int file) {
  if (::ftruncate(file, 0) == 0) ::lseek(file, 0, SEEK_SET);
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\n') {
      shown += "\\n";
    } else {
      shown += c < ' ' || c > '~' ? '?' : c;
    }
  }
  return shown;
}

}  // namespace

Result<std::unique_ptr<OutputWatch>> OutputWatch::start() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): running out of these few bytes is fatal
  std::unique_ptr<OutputWatch> watch(new OutputWatch);
  watch->file_ = ::memfd_create("output of kernels", MFD_CLOEXEC);
  watch->error_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (watch->file_ < 0 || watch->error_ < 0 || ::dup2(watch->file_, STDOUT_FILENO) < 0) {
    return fail(platform_error(PlatformFault::kLimit, "standard output cannot be watched: " +
                                                          std::string(std::strerror(errno))));
  }
  return watch;
}

OutputWatch::~OutputWatch() {
  if (file_ >= 0) ::close(file_);
  if (error_ >= 0) ::close(error_);
}

void OutputWatch::pass_on() noexcept {
  std::fflush(stdout);
  std::array<char, 4096> part;
  for (int64_t at = 0, left = bytes_of(file_); left > 0;) {
    const ssize_t count = ::pread(file_, part.data(), part.size(), at);
    if (count <= 0 || ::write(error_, part.data(), static_cast<size_t>(count)) < 0) break;
    at += count;
    left -= count;
  }
  clear(file_);
}

void OutputWatch::begin() noexcept { ::dup2(file_, STDERR_FILENO); }

void OutputWatch::end() noexcept { ::dup2(error_, STDERR_FILENO); }

std::string OutputWatch::take() noexcept {
  std::fflush(stdout);
  const int64_t bytes = bytes_of(file_);
  if (bytes == 0) return "";
  std::array<char, kShown> begin;
  const ssize_t count = ::pread(file_, begin.data(), begin.size(), 0);
  clear(file_);
  std::string text = printable({begin.data(), static_cast<size_t>(count < 0 ? 0 : count)});
  if (bytes > count) text += "...";
  return text;
}

}  // namespace tapml::device
