#include "rpc/transport/connect.h"

#include <fcntl.h>

#include <cerrno>
#include <thread>

#include "base/strings.h"
#include "rpc/transport/child_process.h"
#include "rpc/transport/socket.h"
#include "rpc/transport/stream_channel.h"
#include "rpc/transport/tls_stream.h"
#include "rpc/transport/tracker_link.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

namespace {

constexpr std::chrono::seconds kTlsHandshake{10};
// Without a deadline: how long to retry while the queue is full, and how often.
constexpr std::chrono::seconds kFullQueue{10};
constexpr std::chrono::milliseconds kTryAgain{10};

// The result for one address; the errno of a failed attempt.
struct Dialled {
  FileDescriptor socket;
  int error = 0;
};

Result<Dialled> dial(const SocketAddress& address, const std::string& endpoint,
                     runtime::Deadline deadline, const Interrupted& interrupted) noexcept {
  Dialled result;
  TAPML_ASSIGN(result.socket, open_socket(address, true, endpoint));
  const int fd = result.socket.get();
  const runtime::Deadline full = deadline.value_or(std::chrono::steady_clock::now() + kFullQueue);
  if (::connect(fd, address.get(), address.size) == 0) return result;
  result.error = errno;
  // A Unix socket with a full queue returns EAGAIN and cannot be waited for.
  while (result.error == EAGAIN) {
    if (interrupted && interrupted()) {
      return fail(
          platform_error(PlatformFault::kCancelled, "connecting was interrupted", endpoint));
    }
    if (runtime::passed(full)) {
      result.error = ETIMEDOUT;
      return result;
    }
    std::this_thread::sleep_for(kTryAgain);
    if (::connect(fd, address.get(), address.size) == 0) {
      result.error = 0;
      return result;
    }
    result.error = errno;
  }
  if (result.error != EINPROGRESS && result.error != EINTR) return result;
  if (Status ready = wait_socket(fd, true, deadline, interrupted, endpoint); !ready) {
    if (ready.error().fault != PlatformFault::kTimeout) return fail(std::move(ready).error());
    result.error = ETIMEDOUT;
    return result;
  }
  socklen_t size = sizeof result.error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &result.error, &size) != 0) result.error = errno;
  return result;
}

Error dial_error(int error, const Endpoint& endpoint) {
  if (error == ETIMEDOUT) {
    return platform_error(PlatformFault::kTimeout, "no answer in time", endpoint.text());
  }
  const bool nobody = error == ECONNREFUSED || error == ENOENT;
  return platform_error(
      PlatformFault::kAbsent,
      (nobody ? "nothing listens at this endpoint: " : "cannot connect: ") + errno_text(error),
      endpoint.text(),
      !nobody ? ""
      : endpoint.kind == Endpoint::Kind::kTracker
          ? "start a tracker: tapml rpc tracker --listen HOST:PORT"
          : "start a server: tapml rpc serve --listen " + endpoint.text());
}

// The reason why no secret is sent to `address`.
Error unprotected(const SocketAddress& address, const Endpoint& endpoint) {
  Endpoint encrypted = endpoint;
  encrypted.tls = true;
  return user_error(
      "the token is not sent without encryption beyond this machine",
      "endpoint " + in_quotes(endpoint.text()),
      "TLS, a loopback address, unix:path or pipe:command",
      "the address " + address.text() + " over plain TCP",
      "serve with --tls-cert and connect to " + encrypted.text() +
          ", forward the port (ssh -L) and connect to 127.0.0.1, or give --insecure on a network "
          "that you trust");
}

Result<std::unique_ptr<ByteStream>> secure(FileDescriptor socket, const Endpoint& endpoint,
                                           const TlsTrust& trust, runtime::Deadline deadline,
                                           const Interrupted& interrupted) noexcept {
  if (!deadline) deadline = std::chrono::steady_clock::now() + kTlsHandshake;
  TAPML_ASSIGN(const auto context, TlsContext::for_client(trust.ca_file));
  return open_tls_stream(*context, std::move(socket), endpoint.host, endpoint.text(), deadline,
                         interrupted);
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_stream(const Endpoint& endpoint,
                                                runtime::Deadline deadline, const TlsTrust& trust,
                                                const Interrupted& interrupted) noexcept {
  if (endpoint.kind != Endpoint::Kind::kUnix && endpoint.port == 0) {
    return fail(user_error("port 0 is for listening only", "endpoint \"" + endpoint.text() + "\"",
                           "a port from 1 to 65535", "0"));
  }
  TAPML_ASSIGN(const auto addresses, resolve(endpoint, deadline, interrupted));
  int error = 0;
  for (const SocketAddress& address : addresses) {
    // The address decides, not the spelling of its name.
    if (trust.secret && !endpoint.tls && !address.is_loopback() && !address.is_unspecified()) {
      return fail(unprotected(address, endpoint));
    }
    TAPML_ASSIGN(Dialled dialled, dial(address, endpoint.text(), deadline, interrupted));
    error = dialled.error;
    if (error != 0) continue;
    const int fd = dialled.socket.get();
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    tune_connection(fd);
    if (endpoint.kind == Endpoint::Kind::kUnix) TAPML_TRY(check_server_owner(fd, endpoint.text()));
    if (endpoint.tls)
      return secure(std::move(dialled.socket), endpoint, trust, deadline, interrupted);
    return make_file_stream(std::move(dialled.socket), {}, endpoint.text());
  }
  return fail(dial_error(error, endpoint));
}

Result<std::unique_ptr<Channel>> connect(const Endpoint& endpoint, runtime::Deadline deadline,
                                         const TlsTrust& trust, const Interrupted& interrupted,
                                         const LeaseRequest& lease) noexcept {
  if (endpoint.kind == Endpoint::Kind::kPipe) return start_command(endpoint.command);
  TAPML_ASSIGN(auto stream, open_stream(endpoint, deadline, trust, interrupted));
  if (endpoint.kind == Endpoint::Kind::kTracker) {
    TAPML_TRY(take_lease(*stream, endpoint, lease, interrupted));
  }
  return std::make_unique<StreamChannel>(std::move(stream));
}

}  // namespace tapml::rpc
