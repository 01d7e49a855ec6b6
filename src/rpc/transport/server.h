// Listens and serves: every connection has a process of its own, so that a kernel that crashes or
// never ends takes down only its own session.
#pragma once

#include <atomic>

#include "rpc/session/server_session.h"
#include "rpc/transport/connect.h"
#include "runtime/launch_note.h"

namespace tapml::rpc {

struct ListenOptions {
  ServerOptions server;
  // PEM files for a tls: endpoint: the certificate (with those up to its root) and its key.
  std::string tls_certificate, tls_key;
  // Listening beyond this machine requires a token, and TLS or this option.
  bool insecure = false;
  int64_t sessions = 64;  // at once; more are refused with kLimit
  // Limits on connections without a valid hello: of all peers, and of one (an address). Beyond them
  // the oldest connection is dropped.
  size_t unfinished = 128, unfinished_of_peer = 64;
  std::chrono::milliseconds call{300'000};  // longest request; after that its process is killed
  int64_t process_bytes = 0;      // data and private mappings of a process; 0: the machine's memory
  bool ends_with_parent = false;  // acts as if `stop` were set when the parent process ends
  // The note that the device of server.open_device updates, for crash reports; null: none.
  const runtime::LaunchNote* launch_note = nullptr;
};

// Each session has a process, forked before any of its data is read. The process serves the
// session; the server keeps the connection open as well, and reports to the client if the process
// crashes (kCrash with signal and backtrace) or is killed because a request takes too long
// (kTimeout). A process cannot see other sessions, and ends with the server. For an encrypted
// connection, a second process holds the client's end and the keys (tls_relay).

class Server {
 public:
  // Binds. UserError for an endpoint that requires a token, and for certificates that cannot be
  // used; PlatformError if the address is in use.
  static Result<std::unique_ptr<Server>> listen(const Endpoint& endpoint,
                                                const ListenOptions& options) noexcept;
  virtual ~Server() = default;
  virtual const Endpoint& endpoint() const noexcept = 0;  // with the actual port
  // Serves until `stop` is set, then ends all sessions and waits for their processes. Must be
  // called in a process without other threads, before it opens a device.
  virtual Status run(const std::atomic<bool>& stop) noexcept = 0;
};

// Serves one session over two descriptors, which it takes, like Server::run.
Status serve_descriptors(int in, int out, const ListenOptions& options,
                         const std::atomic<bool>& stop) noexcept;

}  // namespace tapml::rpc
