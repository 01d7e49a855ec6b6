// TLS termination: the server behind it reads and writes plain bytes. Servers so need one kind of
// connection only, which halves what the templates of Boost.Beast cost to compile. `rpc serve` has
// processes instead (rpc/transport/tls_relay.h), since its sessions run what clients send.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace tapml::net {

class TlsTerminator {
 public:
  // Reads PEM files: the certificate with those between it and its root, and its key. UserError for
  // ones that cannot be used.
  static Result<std::unique_ptr<TlsTerminator>> create(const std::string& certificate_file,
                                                       const std::string& key_file);
  // Ends all connections.
  ~TlsTerminator();
  TlsTerminator(const TlsTerminator&) = delete;

  // Takes a connected socket, over which a client begins TLS, and returns one over which its bytes
  // are plain; the caller closes it. The handshake goes on meanwhile: if it fails, the returned
  // socket ends without a byte, and closing that socket gives the handshake up. -1: there are no
  // descriptors left; the client's socket is closed.
  int terminate(int client_socket);

 private:
  struct State;
  explicit TlsTerminator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tapml::net
