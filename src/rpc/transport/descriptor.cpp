#include "rpc/transport/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace tapml::rpc {

Result<PipePair> make_pipe() noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(platform_error(PlatformFault::kLimit, "no pipe: " + errno_text(errno)));
  }
  return PipePair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Result<std::pair<FileDescriptor, FileDescriptor>> make_socket_pair() noexcept {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(platform_error(PlatformFault::kLimit, "no socket: " + errno_text(errno)));
  }
  return std::pair(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

std::string errno_text(int error) { return std::generic_category().message(error); }

Ready wait_ready(int fd, bool writing, int wake, runtime::Deadline deadline) noexcept {
  while (true) {
    timespec left = {};
    if (deadline) {
      using std::chrono::nanoseconds;
      const auto now = std::chrono::steady_clock::now();
      const int64_t rest =
          std::max<int64_t>(0, std::chrono::duration_cast<nanoseconds>(*deadline - now).count());
      left = {static_cast<time_t>(rest / 1'000'000'000), static_cast<long>(rest % 1'000'000'000)};
    }
    pollfd files[2] = {{fd, static_cast<short>(writing ? POLLOUT : POLLIN), 0}, {wake, POLLIN, 0}};
    const int ready = ::ppoll(files, wake >= 0 ? 2 : 1, deadline ? &left : nullptr, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Ready::kTimeout;
    if (wake >= 0 && files[1].revents != 0) return Ready::kWoken;
    return Ready::kYes;
  }
}

}  // namespace tapml::rpc
