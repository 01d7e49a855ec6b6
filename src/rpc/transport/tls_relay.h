// The server's end of an encrypted connection: a separate process between the client's socket and
// the plain socket of the session's process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <vector>

#include "rpc/transport/descriptor.h"
#include "rpc/transport/tls.h"

namespace tapml::rpc {

// As a result, the session's process, which runs what clients send, never has the key, and the
// server can report the end of that process to the client in plain frames, as without TLS. A relay
// ends with its connection, and with the server.
class TlsRelays {
 public:
  using Log = std::function<void(const std::string&)>;
  // `handshake`: time limit of a handshake; `log` gets a line for each that fails.
  TlsRelays(std::unique_ptr<TlsContext> context, std::chrono::milliseconds handshake, Log log)
      : context_(std::move(context)), handshake_(handshake), log_(std::move(log)) {}

  // Starts a relay for `client` and returns its plain end. `forget` is called in the relay's
  // process to close what it does not own. kLimit if no process can be started.
  template <class Forget>
  Result<FileDescriptor> start(FileDescriptor client, int64_t session, Forget&& forget);
  // If there are `most` relays, ends the oldest whose session is not `running(session)`.
  void make_room(size_t most, const std::function<bool(int64_t session)>& running) noexcept;
  // Forgets the relays that have ended.
  void reap() noexcept;
  // Waits for all relays; after `patience`, ends the rest.
  void end_all(std::chrono::milliseconds patience) noexcept;
  // For use in another process.
  void forget() noexcept {
    context_.reset();
    relays_.clear();
  }

 private:
  struct Process {
    pid_t process;
    int64_t session;
  };
  static void end(pid_t process) noexcept;
  Result<pid_t> fork_process(int64_t session) noexcept;
  [[noreturn]] void serve(FileDescriptor client, FileDescriptor plain, pid_t server) noexcept;

  std::unique_ptr<TlsContext> context_;
  std::chrono::milliseconds handshake_;
  Log log_;
  std::vector<Process> relays_;  // the oldest first
};

template <class Forget>
Result<FileDescriptor> TlsRelays::start(FileDescriptor client, int64_t session, Forget&& forget) {
  TAPML_ASSIGN(auto pair, make_socket_pair());
  const pid_t server = ::getpid();
  TAPML_ASSIGN(const pid_t process, fork_process(session));
  if (process != 0) return std::move(pair.first);
  pair.first.reset();
  forget();
  serve(std::move(client), std::move(pair.second), server);
}

}  // namespace tapml::rpc
