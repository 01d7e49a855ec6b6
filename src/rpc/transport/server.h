// Listens and serves: every connection gets a process of its own, so that a kernel that crashes or
// never ends takes only its session along.
#pragma once

#include <atomic>

#include "rpc/session/server_session.h"
#include "rpc/transport/connect.h"
#include "runtime/launch_note.h"

namespace tapml::rpc {

struct ListenOptions {
  ServerOptions server;
  // PEM files of a tls: place: the certificate (with those up to its root) and its key.
  std::string tls_certificate, tls_key;
  // Listening beyond this machine takes a token, and TLS or this.
  bool insecure = false;
  int64_t sessions = 64;  // at once; more are refused with kLimit
  // Connections without a hello with the right token: of all peers, and of one (an address). Beyond
  // that the oldest gives way.
  size_t unfinished = 128, unfinished_of_peer = 64;
  std::chrono::milliseconds call{300'000};  // longest request; then its process is killed
  int64_t process_bytes = 0;      // data and private mappings of a process; 0: the machine's memory
  bool ends_with_parent = false;  // as if `stop` was set, when the parent process ends
  // That the device which server.open_device opens keeps, for what is said of crashes; null: none.
  const runtime::LaunchNote* launch_note = nullptr;
};

// Each session has a process, forked before anything of it is read. It serves the session; the
// server keeps the connection open beside it, and tells the client what happened when the process
// crashes (kCrash with signal and backtrace) or is killed for a request that takes too long
// (kTimeout). A process sees no other session, and ends with the server. Of an encrypted connection
// a second process has the client's end and the keys (tls_relay).

class Server {
 public:
  // Binds. UserError for a place that may not be listened on without a token, and for certificates
  // that cannot be used; PlatformError where the address is taken.
  static Result<std::unique_ptr<Server>> listen(const Endpoint& endpoint,
                                                const ListenOptions& options) noexcept;
  virtual ~Server() = default;
  virtual const Endpoint& endpoint() const noexcept = 0;  // with the port that was chosen
  // Serves until `stop` is set, then ends all sessions and waits for their processes. Must be
  // called from a process without other threads, and before it opens a device.
  virtual Status run(const std::atomic<bool>& stop) noexcept = 0;
};

// One session over two descriptors, which are taken; as Server::run, until it ends.
Status serve_descriptors(int in, int out, const ListenOptions& options,
                         const std::atomic<bool>& stop) noexcept;

}  // namespace tapml::rpc
