#include "rpc/transport/unfinished_handshakes.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace tapml::rpc {

void UnfinishedHandshakes::add(int64_t connection, std::string peer) {
  connections_.push_back({connection, std::move(peer)});
}

void UnfinishedHandshakes::remove(int64_t connection) {
  remove_if([&](int64_t number) { return number == connection; });
}

size_t UnfinishedHandshakes::count_of(const std::string& peer) const {
  return static_cast<size_t>(
      std::ranges::count_if(connections_, [&](const Connection& one) { return one.peer == peer; }));
}

std::optional<int64_t> UnfinishedHandshakes::gives_way(const std::string& peer) const {
  std::string whose = peer;
  if (count_of(peer) < most_of_peer_) {
    if (connections_.size() < most_) return {};
    size_t most = 0;
    for (const Connection& one : connections_) {
      if (const size_t count = count_of(one.peer); count > most) {
        most = count;
        whose = one.peer;
      }
    }
  }
  const auto oldest = std::ranges::find(connections_, whose, &Connection::peer);
  if (oldest == connections_.end()) return {};
  return oldest->number;
}

std::string peer_key(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET6) {
    sockaddr_in6 v6 = {};
    std::memcpy(&v6, &address.storage, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      return "4:" + std::string(reinterpret_cast<const char*>(v6.sin6_addr.s6_addr + 12), 4);
    }
    // Someone with one address of a network has all of them.
    return "6:" + std::string(reinterpret_cast<const char*>(v6.sin6_addr.s6_addr), 8);
  }
  if (address.storage.ss_family != AF_INET) return "local";
  sockaddr_in v4 = {};
  std::memcpy(&v4, &address.storage, sizeof v4);
  return "4:" + std::string(reinterpret_cast<const char*>(&v4.sin_addr), sizeof v4.sin_addr);
}

std::string peer_key(int socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return "local";
  }
  return peer_key(address);
}

}  // namespace tapml::rpc
