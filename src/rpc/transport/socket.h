// Sockets of endpoints: addresses, connecting, listening.
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
  bool is_loopback() const noexcept;     // true for a Unix socket
  bool is_unspecified() const noexcept;  // 0.0.0.0, [::]: connecting to it stays on this machine
  std::string text() const;              // "192.0.2.1", without the port; "" for a Unix socket
};

// The addresses of a tcp or unix endpoint, at least one. PlatformError kAbsent for an unknown host.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint, bool listening) noexcept;
// The same for connecting, with a time limit: on kTimeout or kCancelled the system's resolver,
// which supports neither, continues on its own.
Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint, runtime::Deadline deadline,
                                           const Interrupted& interrupted) noexcept;

// Waits until the socket can be read (or written). Errors: kTimeout, kCancelled.
Status wait_socket(int fd, bool writing, runtime::Deadline deadline, const Interrupted& interrupted,
                   const std::string& endpoint) noexcept;

// Ok if `user` may trust what `owner` serves at `endpoint`: the owner is the same user, or root.
// Otherwise a UserError that names both.
Status check_owner(uid_t owner, uid_t user, const std::string& endpoint);
// The same for the listener at the other end of a connected Unix socket, and this process.
Status check_server_owner(int socket, const std::string& endpoint);

// A stream socket of the address's family, closed on exec.
Result<FileDescriptor> open_socket(const SocketAddress& address, bool nonblocking,
                                   const std::string& endpoint) noexcept;

// Sets the options of a connected socket: small frames are sent at once, and a lost machine is
// noticed.
void tune_connection(int fd) noexcept;

}  // namespace tapml::rpc
