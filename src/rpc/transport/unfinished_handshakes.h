// Decides which connection is dropped when too many have not identified themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rpc/transport/socket.h"

namespace tapml::rpc {

// The connections without a valid hello yet, in order of arrival. They do not count as sessions, so
// that silent clients keep no one out.
class UnfinishedHandshakes {
 public:
  // Limits: of all connections, and of one peer's.
  UnfinishedHandshakes(size_t most, size_t most_of_peer)
      : most_(most), most_of_peer_(most_of_peer) {}

  void add(int64_t connection, std::string peer);
  // Called when the connection becomes a session or ends; ignores an unknown one.
  void remove(int64_t connection);
  size_t count() const noexcept { return connections_.size(); }
  // The connection to drop to make room for one more of `peer`: this peer's oldest, if it has
  // reached its limit; the oldest of the peer with the most connections, if the total limit is
  // reached; otherwise nothing.
  std::optional<int64_t> gives_way(const std::string& peer) const;
  // Removes each connection for which `gone(number)` is true.
  template <class Gone>
  void remove_if(Gone&& gone) {
    std::erase_if(connections_, [&](const Connection& one) { return gone(one.number); });
  }

 private:
  struct Connection {
    int64_t number;
    std::string peer;
  };

  size_t count_of(const std::string& peer) const;

  size_t most_, most_of_peer_;
  std::vector<Connection> connections_;  // the oldest first
};

// The peer of an address: an IPv4 address, the network (/64) of an IPv6 address, or "local".
std::string peer_key(const SocketAddress& address);
// The same for the other side of a connected socket.
std::string peer_key(int socket);

}  // namespace tapml::rpc
