// Sockets of places: addresses, connecting, listening.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "rpc/transport/connect.h"
#include "rpc/transport/descriptor.h"

namespace tapml::rpc {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  bool is_loopback() const noexcept;     // a Unix socket is, too
  bool is_unspecified() const noexcept;  // 0.0.0.0, [::]: connecting there stays on this machine
  std::string text() const;              // "192.0.2.1", without the port; "" for a Unix socket
};

// Of a tcp or unix place, at least one. PlatformError kAbsent for a host that the system does not
// know.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint, bool listening) noexcept;
// The same to connect to, in time: the system's resolver, which knows neither, goes on by itself
// then. Also kTimeout, kCancelled.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint, runtime::Deadline deadline,
                                           const Interrupted& interrupted) noexcept;

// Waits until the socket can be read (or written). kTimeout, kCancelled.
Status wait_socket(int fd, bool writing, runtime::Deadline deadline, const Interrupted& interrupted,
                   const std::string& endpoint) noexcept;

// Whether what `owner` serves at `place` is to be believed by `user`: it is the same user, or root.
// UserError that names both.
Status check_owner(uid_t owner, uid_t user, const std::string& endpoint);
// The same of whoever listens at the other end of a connected Unix socket, and of this process.
Status check_server_owner(int socket, const std::string& endpoint);

// A stream socket of the address's family, closed in programs that are started.
Result<FileDescriptor> open_socket(const SocketAddress& address, bool nonblocking,
                                   const std::string& endpoint) noexcept;

// What a connected socket of ours has: small frames go out at once, a machine that is gone is
// noticed.
void tune_connection(int fd) noexcept;

}  // namespace tapml::rpc
