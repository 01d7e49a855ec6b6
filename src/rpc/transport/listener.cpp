#include "rpc/transport/listener.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>

#include <cerrno>

#include "base/strings.h"

namespace tapml::rpc {

namespace {

constexpr int kBacklog = 128;

// Removes the file if it is a socket of this user that no one listens on any more.
Status remove_stale_socket(const SocketAddress& address, const Endpoint& endpoint) noexcept {
  struct stat status = {};
  const std::string where = endpoint.text();
  if (::lstat(endpoint.path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) {
    return fail(user_error("the path is taken by a file that is not a socket", where,
                           "a path that does not exist"));
  }
  if (status.st_uid != ::geteuid()) {
    return fail(user_error("the path is taken by another user's socket", where));
  }
  TAPML_ASSIGN(FileDescriptor probe, open_socket(address, true, where));
  const bool stale =
      ::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
  if (!stale) {
    return fail(
        platform_error(PlatformFault::kAbsent, "another server listens at this endpoint", where));
  }
  if (::unlink(endpoint.path.c_str()) != 0 && errno != ENOENT) {
    return fail(user_error(
        "cannot remove the socket of a server that is gone: " + errno_text(errno), where));
  }
  return {};
}

Error bind_error(int error, const Endpoint& endpoint) {
  if (error == EADDRINUSE) {
    return platform_error(PlatformFault::kAbsent, "the address is taken: " + errno_text(error),
                          endpoint.text(), "port 0 selects a free port");
  }
  return user_error("cannot listen at this endpoint: " + errno_text(error), endpoint.text());
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const Endpoint& endpoint, bool anywhere) {
  std::unique_ptr<Listener> listener(new Listener(endpoint));
  switch (endpoint.kind) {
    case Endpoint::Kind::kPipe:
      return fail(user_error("a pipe cannot be listened on",
                             "endpoint " + in_quotes(endpoint.text()), "tcp:host:port or unix:path",
                             "", "`tapml rpc serve --stdio` is the other end of a pipe"));
    case Endpoint::Kind::kTracker:
      return fail(user_error("a tracker's device is not an address to listen at",
                             "endpoint " + in_quotes(endpoint.text()), "tcp:host:port or unix:path",
                             "",
                             "`tapml rpc serve --tracker HOST:PORT --key KEY` is served there"));
    case Endpoint::Kind::kUnix:
      TAPML_TRY(listener->bind_unix());
      break;
    case Endpoint::Kind::kTcp:
      TAPML_TRY(listener->bind_tcp(anywhere));
      break;
  }
  return listener;
}

Status Listener::bind_unix() noexcept {
  TAPML_ASSIGN(const auto addresses, resolve(endpoint_, true));
  const SocketAddress& address = addresses.front();
  TAPML_TRY(remove_stale_socket(address, endpoint_));
  TAPML_ASSIGN(socket_, open_socket(address, true, endpoint_.text()));
  if (::bind(socket_.get(), address.get(), address.size) != 0) {
    return fail(bind_error(errno, endpoint_));
  }
  struct stat status = {};
  if (::lstat(endpoint_.path.c_str(), &status) == 0) {
    has_file_ = true;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  // No one can connect before listen(), so the mode is set first.
  if (::chmod(endpoint_.path.c_str(), 0600) != 0 || ::listen(socket_.get(), kBacklog) != 0) {
    return fail(bind_error(errno, endpoint_));
  }
  return {};
}

Status Listener::bind_tcp(bool anywhere) noexcept {
  TAPML_ASSIGN(const auto addresses, resolve(endpoint_, true));
  const SocketAddress& address = addresses.front();
  if (!address.is_loopback() && !anywhere) {
    Error error = user_error(
        "listening beyond this machine needs a token, and TLS or --insecure",
        "endpoint " + in_quotes(endpoint_.text()),
        "--token-file with --tls-cert and --tls-key, or 127.0.0.1, [::1], localhost, unix:path",
        in_quotes(endpoint_.host));
    error.hint =
        "without a certificate: listen on loopback and forward the port by ssh -L, or give "
        "--token-file and --insecure on a network that you trust";
    return fail(std::move(error));
  }
  TAPML_ASSIGN(socket_, open_socket(address, true, endpoint_.text()));
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket_.get(), address.get(), address.size) != 0 ||
      ::listen(socket_.get(), kBacklog) != 0) {
    return fail(bind_error(errno, endpoint_));
  }
  sockaddr_storage bound = {};
  socklen_t size = sizeof bound;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0) {
    const bool v6 = bound.ss_family == AF_INET6;
    endpoint_.port = ntohs(v6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                              : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  }
  return {};
}

Listener::~Listener() {
  if (!has_file_) return;
  struct stat status = {};
  const bool ours = ::lstat(endpoint_.path.c_str(), &status) == 0 && status.st_dev == device_ &&
                    status.st_ino == inode_;
  if (ours) ::unlink(endpoint_.path.c_str());
}

FileDescriptor Listener::accept() noexcept {
  while (true) {
    FileDescriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid() && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (connection.valid()) tune_connection(connection.get());
    return connection;
  }
}

void Listener::forget() noexcept {
  has_file_ = false;
  socket_.reset();
}

}  // namespace tapml::rpc
