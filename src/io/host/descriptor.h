// An owned file descriptor. Private to io/host.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

namespace tapml {

// Closes the descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Returns 0, or the errno of the close.
  int close() { return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }

 private:
  int fd_;
};

// Writes everything; returns errno, or 0.
inline int write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // One call may write at most about 2 GiB.
    size_t piece = std::min(bytes.size(), size_t{1} << 30);
    ssize_t written = ::write(fd, bytes.data(), piece);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace tapml
