// The server's end of an encrypted connection: a process of its own between the client's socket and
// the plain one that the session's process has.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <vector>

#include "rpc/transport/descriptor.h"
#include "rpc/transport/tls.h"

namespace tapml::rpc {

// So the session's process, which runs what clients send, never has the key, and the server can
// tell the client what became of that process, in plain frames, as it does without TLS. A relay
// ends with its connection, and with the server.
class TlsRelays {
 public:
  using Log = std::function<void(const std::string&)>;
  // A client has `handshake` to shake hands; `log` hears of those that cannot.
  TlsRelays(std::unique_ptr<TlsContext> context, std::chrono::milliseconds handshake, Log log)
      : context_(std::move(context)), handshake_(handshake), log_(std::move(log)) {}

  // The plain end of a relay for `client`; `forget` is called in its process, to close what is not
  // its own. kLimit where there is no process to have.
  template <class Forget>
  Result<FileDescriptor> start(FileDescriptor client, int64_t session, Forget&& forget);
  // For one more: ends the oldest of those whose session is not `running(session)`, where `most`
  // of them are there.
  void make_room(size_t most, const std::function<bool(int64_t session)>& running) noexcept;
  // Those that have ended are gone.
  void reap() noexcept;
  // Waits for all; ends those that are there after `patience`.
  void end_all(std::chrono::milliseconds patience) noexcept;
  // In another process.
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
