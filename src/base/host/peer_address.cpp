#include "base/host/peer_address.h"

#include <netdb.h>
#include <sys/socket.h>

namespace tapml {

std::string peer_address(int socket) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof peer;
  auto* address = reinterpret_cast<sockaddr*>(&peer);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getpeername(socket, address, &size) != 0 ||
      ::getnameinfo(address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  const bool brackets = peer.ss_family == AF_INET6;
  return (brackets ? "[" : "") + std::string(host) + (brackets ? "]:" : ":") + port;
}

}  // namespace tapml
