// The tracker: devices that dial out to it are leased to clients, and it carries the bytes of a
// lease between the two connections without looking at them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpc/transport/connect.h"
#include "rpc/transport/descriptor.h"

namespace tapml::tracker {

struct TrackerOptions {
  rpc::Endpoint endpoint;                // tcp; port 0: a free one
  std::string tls_certificate, tls_key;  // PEM files, if endpoint.tls
  std::string token;                     // that devices and clients must present; empty: none
  bool insecure = false;                 // listens beyond this machine without TLS
  // Pages that may connect, besides those of the tracker's own address: "https://lab.example".
  std::vector<std::string> origins;
  int64_t devices = 4096, waiting = 256;  // most at once
  // Limits on connections without a complete request: of all peers, and of one. Beyond them the
  // oldest one is dropped.
  size_t unfinished = 256, unfinished_of_peer = 128;
  std::chrono::milliseconds handshake{10'000};
  std::chrono::seconds longest_wait{86'400};     // for a device
  uint64_t message_bytes = uint64_t{128} << 20;  // most of a WebSocket message
  std::function<void(const std::string&)> log;   // called on the tracker's thread; may be empty
};

// Serves on a thread of its own.
class Tracker {
 public:
  // UserError for an address beyond this machine without a token and TLS (or `insecure`), for
  // unusable certificates and for an origin that is none; PlatformError for an address in use.
  static Result<std::unique_ptr<Tracker>> listen(const TrackerOptions& options);
  // Does not listen itself: adopt() gives it connections of a server at `options.endpoint`, which
  // has decided who may reach it. UserError for an origin that is none.
  static Result<std::unique_ptr<Tracker>> open(const TrackerOptions& options);
  // Ends all connections.
  ~Tracker();
  Tracker(const Tracker&) = delete;

  const rpc::Endpoint& endpoint() const noexcept;  // with the actual port

  // Takes a connection with plain bytes, of which `first_bytes`, a whole request at least, have
  // been read. `peer`: its address, for people. Thread-safe.
  void adopt(rpc::FileDescriptor socket, std::string first_bytes, std::string peer);

 private:
  class State;
  explicit Tracker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tapml::tracker
