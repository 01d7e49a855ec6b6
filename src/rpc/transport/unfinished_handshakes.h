// Which connection gives way where too many have not said who they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rpc/transport/socket.h"

namespace tapml::rpc {

// The connections without a right hello yet, in the order in which they came. They are no sessions:
// whoever says nothing keeps nobody out.
class UnfinishedHandshakes {
 public:
  // So many at once, and so many of one peer.
  UnfinishedHandshakes(size_t most, size_t most_of_peer)
      : most_(most), most_of_peer_(most_of_peer) {}

  void add(int64_t connection, std::string peer);
  // Once it is a session, or gone; nothing for one that is not there.
  void remove(int64_t connection);
  size_t count() const noexcept { return connections_.size(); }
  // What makes room for one more of `peer`: the oldest of this peer, where it has as many as it
  // may; the oldest of the peer that has the most, where there are as many as may be; nothing,
  // where there is room.
  std::optional<int64_t> gives_way(const std::string& peer) const;
  // The same as remove() for each whose number is `gone`.
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

// Whom a connection counts for: an IPv4 address, the network (/64) of an IPv6 address, or "local".
std::string peer_key(const SocketAddress& address);
// That of a connected socket's other side.
std::string peer_key(int socket);

}  // namespace tapml::rpc
