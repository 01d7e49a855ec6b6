#include "rpc/transport/byte_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "rpc/transport/spin_waiter.h"

namespace tapml::rpc {

namespace {

bool is_socket_file(int fd) {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

// Longer than a typical call that someone waits for, and short enough to check a deadline after it.
constexpr std::chrono::milliseconds kNap{10};

void set_receive_timeout(int fd, std::chrono::microseconds time) {
  const timeval value = {0, static_cast<suseconds_t>(time.count())};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
}

class FileStream final : public ByteStream {
 public:
  FileStream(FileDescriptor in, FileDescriptor out, std::string peer)
      : ByteStream(std::move(peer)),
        in_(std::move(in)),
        out_(std::move(out)),
        in_is_socket_(is_socket_file(in_.get())),
        out_is_socket_(out_.valid() ? is_socket_file(out_.get()) : in_is_socket_) {
    if (in_is_socket_) {
      set_receive_timeout(in_.get(), kNap);
    } else {
      set_nonblocking(in_.get());
    }
    if (!out_is_socket_) set_nonblocking(out_.get());
    if (in_is_socket_ && out_is_socket_) return;
    if (auto wake = make_pipe()) wake_ = std::move(*wake);
  }
  ~FileStream() override { FileStream::close(); }

  void close() noexcept override {
    if (closed_.exchange(true)) return;
    // Descriptors are closed with the object: a number that another thread is about to use must not
    // become a new file.
    if (in_is_socket_) ::shutdown(in_.get(), SHUT_RDWR);
    if (out_is_socket_ && out_.valid()) ::shutdown(out_.get(), SHUT_RDWR);
    wake_.write.reset();
  }

  int wake_fd() const noexcept override { return in_.get(); }

  Result<size_t> read_some(std::span<std::byte> to, runtime::Deadline deadline) noexcept override {
    const SpinWaiter::Clock::time_point began = SpinWaiter::Clock::now();
    const bool awake = waiter_.pays(began, deadline);
    // A wait without spinning is usually one system call.
    const bool naps = in_is_socket_ && !(deadline && *deadline - began < kNap);
    bool looked = false;
    while (true) {
      if (closed_) return fail(lost("was closed"));
      ssize_t count = receive(to, naps && !awake && !looked);
      if (count < 0 && awake && !looked && nothing_yet()) {
        // Polling does not take the socket's lock, which a sending thread needs.
        const bool came = waiter_.keep(began, [&] {
          pollfd file = {in_.get(), POLLIN, 0};
          return ::poll(&file, 1, 0) > 0;
        });
        count = receive(to, naps && !came);
      }
      if (count >= 0) {
        waiter_.waited(SpinWaiter::Clock::now() - began);
        return static_cast<size_t>(count);
      }
      if (errno == EINTR) continue;
      if (!nothing_yet()) return fail(lost("failed: " + errno_text(errno)));
      looked = true;
      TAPML_TRY(wait(in_.get(), false, wake_.read.get(), deadline));
    }
  }

  Result<size_t> write_some(Parts parts, runtime::Deadline deadline) noexcept override {
    iovec vectors[kMostParts];
    size_t count = 0;
    for (const std::span<const std::byte> part : parts.first(std::min(parts.size(), kMostParts))) {
      // The system takes the memory as mutable but only reads it.
      vectors[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    }
    const int fd = out_.valid() ? out_.get() : in_.get();
    while (true) {
      if (closed_) return fail(lost("was closed"));
      ssize_t written = 0;
      if (out_is_socket_) {
        msghdr message = {};
        message.msg_iov = vectors;
        message.msg_iovlen = count;
        written = ::sendmsg(fd, &message, MSG_NOSIGNAL | (deadline ? MSG_DONTWAIT : 0));
      } else {
        WithoutBrokenPipe guard;
        written = ::writev(fd, vectors, static_cast<int>(count));
      }
      if (written >= 0) return static_cast<size_t>(written);
      if (errno == EINTR) continue;
      if (!nothing_yet()) return fail(lost("failed: " + errno_text(errno)));
      TAPML_TRY(wait(fd, true, wake_.read.get(), deadline));
    }
  }

 private:
  // `naps`: waits for up to kNap when there is no data; closing ends the wait.
  ssize_t receive(std::span<std::byte> to, bool naps) const noexcept {
    if (!in_is_socket_) return ::read(in_.get(), to.data(), to.size());
    return ::recv(in_.get(), to.data(), to.size(), naps ? 0 : MSG_DONTWAIT);
  }
  static bool nothing_yet() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK; }

  FileDescriptor in_, out_;  // out_ is not valid if in_ is a socket for both
  bool in_is_socket_ = false, out_is_socket_ = false;
  SpinWaiter waiter_;
  PipePair wake_;  // for pipes; closing the writing end wakes both directions
};

}  // namespace

Error ByteStream::lost(const std::string& why) const {
  return platform_error(PlatformFault::kLost,
                        closed_ ? "the connection was closed locally" : "the connection " + why,
                        peer_);
}

Status ByteStream::wait(int fd, bool writing, int wake, runtime::Deadline deadline) const noexcept {
  switch (wait_ready(fd, writing, wake, deadline)) {
    case Ready::kYes:
      return {};
    case Ready::kWoken:
      return fail(lost("was closed"));
    case Ready::kTimeout:
      break;
  }
  return fail(platform_error(
      PlatformFault::kTimeout,
      writing ? "the other side did not read in time" : "nothing arrived in time", peer_));
}

std::unique_ptr<ByteStream> make_file_stream(FileDescriptor in, FileDescriptor out,
                                             std::string peer) {
  return std::make_unique<FileStream>(std::move(in), std::move(out), std::move(peer));
}

WithoutBrokenPipe::WithoutBrokenPipe() noexcept {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  sigset_t pending;
  sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

WithoutBrokenPipe::~WithoutBrokenPipe() {
  const int error = errno;
  if (!was_pending_) {
    const timespec now = {};
    while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace tapml::rpc
