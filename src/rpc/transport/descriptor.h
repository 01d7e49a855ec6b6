// Open files of this room: ownership, waiting with a deadline, errors by number.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "base/result.h"
#include "runtime/session.h"

namespace tapml::rpc {

// Closes its descriptor with the object.
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
  FileDescriptor read, write;  // both closed in programs that are started
};
Result<PipePair> make_pipe() noexcept;
// Two connected stream sockets.
Result<std::pair<FileDescriptor, FileDescriptor>> make_socket_pair() noexcept;

// "Connection refused"; safe on every thread.
std::string errno_text(int error);

enum class Ready : uint8_t { kYes, kTimeout, kWoken };
// Waits until `fd` can be read (or written), the deadline passes, or `wake`, where it is a
// descriptor, is readable or closed on its other side. Errors of `fd` count as ready.
Ready wait_ready(int fd, bool writing, int wake, runtime::Deadline deadline) noexcept;

}  // namespace tapml::rpc
