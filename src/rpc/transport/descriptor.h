// Open files of this component: ownership, waiting with a deadline, texts of error numbers.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "base/result.h"
#include "runtime/session.h"

namespace tapml::rpc {

// Owns a descriptor, and closes it when destroyed.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct PipePair {
  FileDescriptor read, write;  // both closed on exec
};
Result<PipePair> make_pipe() noexcept;
// Returns two connected stream sockets.
Result<std::pair<FileDescriptor, FileDescriptor>> make_socket_pair() noexcept;

// "Connection refused"; thread-safe.
std::string errno_text(int error);

enum class Ready : uint8_t { kYes, kTimeout, kWoken };
// Waits until `fd` can be read (or written), the deadline passes, or `wake`, if it is a descriptor,
// is readable or closed on its other side. Errors of `fd` count as ready.
Ready wait_ready(int fd, bool writing, int wake, runtime::Deadline deadline) noexcept;

}  // namespace tapml::rpc
