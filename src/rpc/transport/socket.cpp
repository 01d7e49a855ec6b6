#include "rpc/transport/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/strings.h"

namespace tapml::rpc {

bool SocketAddress::is_loopback() const noexcept {
  switch (storage.ss_family) {
    case AF_UNIX:
      return true;
    case AF_INET: {
      sockaddr_in address = {};
      std::memcpy(&address, &storage, sizeof address);
      return (ntohl(address.sin_addr.s_addr) >> 24) == 127;
    }
    case AF_INET6: {
      sockaddr_in6 address = {};
      std::memcpy(&address, &storage, sizeof address);
      const in6_addr& bytes = address.sin6_addr;
      if (IN6_IS_ADDR_V4MAPPED(&bytes)) return bytes.s6_addr[12] == 127;
      return std::memcmp(&bytes, &in6addr_loopback, sizeof(in6_addr)) == 0;
    }
    default:
      return false;
  }
}

bool SocketAddress::is_unspecified() const noexcept {
  if (storage.ss_family == AF_INET) {
    sockaddr_in address = {};
    std::memcpy(&address, &storage, sizeof address);
    return address.sin_addr.s_addr == htonl(INADDR_ANY);
  }
  if (storage.ss_family != AF_INET6) return false;
  sockaddr_in6 address = {};
  std::memcpy(&address, &storage, sizeof address);
  return IN6_IS_ADDR_UNSPECIFIED(&address.sin6_addr);
}

std::string SocketAddress::text() const {
  char host[NI_MAXHOST] = "";
  if (storage.ss_family == AF_UNIX ||
      ::getnameinfo(get(), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return host;
}

Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint, bool listening) noexcept {
  if (endpoint.kind == Endpoint::Kind::kUnix) {
    sockaddr_un unix_address = {};
    unix_address.sun_family = AF_UNIX;
    if (endpoint.path.size() >= sizeof unix_address.sun_path) {
      return fail(internal_error("a socket's path is too long", endpoint.text()));
    }
    std::memcpy(unix_address.sun_path, endpoint.path.c_str(), endpoint.path.size() + 1);
    SocketAddress address;
    std::memcpy(&address.storage, &unix_address, sizeof unix_address);
    address.size = sizeof unix_address;
    return std::vector{address};
  }
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (listening ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  const int error = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    const char* why = error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error);
    return fail(platform_error(PlatformFault::kAbsent,
                               "host " + endpoint.host + " is not known: " + why, endpoint.text()));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress address;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  if (addresses.empty()) {
    return fail(platform_error(PlatformFault::kAbsent, "host " + endpoint.host + " has no address",
                               endpoint.text()));
  }
  return addresses;
}

namespace {

// How quickly an interrupt is noticed.
constexpr std::chrono::milliseconds kSlice{50};

// Ok to wait until `slice`, which this sets; otherwise the reason not to.
Status next_slice(runtime::Deadline deadline, const Interrupted& interrupted,
                  const std::string& endpoint, runtime::Deadline& slice) noexcept {
  if (interrupted && interrupted()) {
    return fail(platform_error(PlatformFault::kCancelled, "connecting was interrupted", endpoint));
  }
  const auto now = std::chrono::steady_clock::now();
  if (deadline && now >= *deadline) {
    return fail(platform_error(PlatformFault::kTimeout, "no answer in time", endpoint));
  }
  slice = deadline;
  if (interrupted) slice = std::min(deadline.value_or(now + kSlice), now + kSlice);
  return {};
}

bool is_name(const Endpoint& endpoint) {
  in6_addr bytes = {};
  return endpoint.kind != Endpoint::Kind::kUnix &&
         ::inet_pton(AF_INET, endpoint.host.c_str(), &bytes) != 1 &&
         ::inet_pton(AF_INET6, endpoint.host.c_str(), &bytes) != 1;
}

}  // namespace

Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint, runtime::Deadline deadline,
                                           const Interrupted& interrupted) noexcept {
  if (!is_name(endpoint) || (!deadline && !interrupted)) return resolve(endpoint, false);
  struct Answer {
    std::mutex lock;
    std::condition_variable came;
    std::optional<Result<std::vector<SocketAddress>>> addresses;
  };
  auto answer = std::make_shared<Answer>();
  try {
    std::thread([answer, endpoint] {
      auto addresses = resolve(endpoint, false);
      const std::lock_guard guard(answer->lock);
      answer->addresses = std::move(addresses);
      answer->came.notify_one();
    }).detach();
  } catch (const std::system_error& none) {
    return fail(platform_error(PlatformFault::kLimit,
                               std::string("no thread to look up the host: ") + none.what(),
                               endpoint.text()));
  }
  std::unique_lock held(answer->lock);
  while (!answer->addresses) {
    runtime::Deadline slice;
    TAPML_TRY(next_slice(deadline, interrupted, endpoint.text(), slice));
    answer->came.wait_until(held, *slice);
  }
  return std::move(*answer->addresses);
}

Status wait_socket(int fd, bool writing, runtime::Deadline deadline, const Interrupted& interrupted,
                   const std::string& endpoint) noexcept {
  runtime::Deadline slice;
  do {
    TAPML_TRY(next_slice(deadline, interrupted, endpoint, slice));
  } while (wait_ready(fd, writing, -1, slice) == Ready::kTimeout);
  return {};
}

namespace {

// "ann (1000)"
std::string user_text(uid_t user) {
  std::array<char, 4096> names;
  passwd entry = {};
  passwd* found = nullptr;
  const std::string number = std::to_string(user);
  if (::getpwuid_r(user, &entry, names.data(), names.size(), &found) != 0 || found == nullptr) {
    return "user " + number;
  }
  return std::string(found->pw_name) + " (" + number + ")";
}

}  // namespace

Status check_owner(uid_t owner, uid_t user, const std::string& endpoint) {
  if (owner == user || owner == 0) return {};
  return fail(user_error(
      "the socket's server belongs to another user, who would get the token and the model",
      "endpoint " + in_quotes(endpoint), "a server of " + user_text(user) + " or of root",
      "one of " + user_text(owner),
      "serve in a folder that only you can write to: unix:$XDG_RUNTIME_DIR/device.sock"));
}

Status check_server_owner(int socket, const std::string& endpoint) {
  ucred server = {};
  socklen_t size = sizeof server;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0) {
    return fail(platform_error(PlatformFault::kLost,
                               "the system does not report who listens: " + errno_text(errno),
                               endpoint));
  }
  return check_owner(server.uid, ::geteuid(), endpoint);
}

Result<FileDescriptor> open_socket(const SocketAddress& address, bool nonblocking,
                                   const std::string& endpoint) noexcept {
  const int type = SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0);
  FileDescriptor socket(::socket(address.storage.ss_family, type, 0));
  if (!socket.valid()) {
    return fail(platform_error(PlatformFault::kLimit, "no socket: " + errno_text(errno), endpoint));
  }
  return socket;
}

void tune_connection(int fd) noexcept {
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return;
  if (own.ss_family == AF_UNIX) {
    const int bytes = 1 << 20;  // the system's limit applies if it is lower
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return;
  }
  const int on = 1, idle = 15, interval = 5, probes = 3;  // seconds: half a minute in all
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace tapml::rpc
