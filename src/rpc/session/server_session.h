// The other end of a RemoteSession: takes requests from a channel and runs them on a device of this
// process. Nothing that comes in is trusted: sizes, handles, ranges, dtypes and indices are checked
// before anything is allocated or run.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpc/session/channel.h"
#include "rpc/session/compression.h"
#include "rpc/session/content_store.h"
#include "rpc/session/recent_lines.h"
#include "runtime/device.h"

namespace tapml::rpc {

class ServerLink;

struct ServerLimits {
  uint64_t head_bytes = uint64_t{4} << 20;      // of one message
  uint64_t payload_bytes = uint64_t{64} << 20;  // of one frame; larger tensors come in chunks
  uint64_t module_bytes = uint64_t{1} << 30;    // of one module or executable
  uint64_t code_bytes = uint64_t{4} << 30;      // of all that a session holds together
  int64_t memory_bytes = 0;                     // of all buffers together; 0: the device's limit
  size_t handles = 1 << 20;                     // alive at once, of all kinds
  std::chrono::milliseconds handshake{10'000};  // from the connection to a valid hello
  std::chrono::milliseconds idle{600'000};      // without a request; heartbeats do not count
  std::chrono::milliseconds heartbeat{2'000};   // between two of them while a request runs
};

struct ServerOptions {
  ServerLimits limits;
  std::string token;  // that a client must show; empty: none
  // Opens the device of a target text ("cpu:threads=1"), which comes from the client.
  std::function<Result<std::shared_ptr<runtime::Device>>(const std::string& target)> open_device;
  // Opens what is kept of weights and modules from session to session; empty: nothing is. It goes
  // with the session.
  std::function<std::unique_ptr<ContentStore>()> open_contents;
  // For payloads, where the client has the same; null: none.
  std::shared_ptr<Compressor> compressor;
  Compression compression = Compression::kMeasured;
  // Keeps the last lines of what the session logs, for its failures; null: nothing does.
  RecentLines* recent = nullptr;
  // What a status request shows, as one JSON text; empty: nothing.
  std::function<std::string()> describe;
  // Called with a line about each session: opened, refused, ended.
  std::function<void(const std::string&)> log;
  // Told when a request begins (true), which ends the one before, and when there is none any more
  // (false), for watchdogs. One thread at a time; heartbeats, and the wait for the next request,
  // are no requests.
  std::function<void(bool running)> activity;
  // Asked once the client has said a hello with the right token, before its device is opened. A
  // failure ends the session, and is what the client is reported.
  std::function<Status()> admit;
  // Told that the session is over, before what it has of the device goes: that waits for all work
  // there, which may never end.
  std::function<void()> ended;
};

// The head of a frame (without payload) that ends a session with `error`, whatever the client is
// doing, the handshake included: sent by whoever outlives the process that served it.
std::vector<std::byte> encode_failure(const Error& error,
                                      const std::vector<std::string>& log = {}) noexcept;
// The head of a frame that says that the session is alive.
std::vector<std::byte> encode_heartbeat(uint64_t request, int64_t done, int64_t total) noexcept;

// Serves one session until the client goes (ok) or breaks the protocol, shows a wrong token or is
// idle for too long (an error, which the client was sent when that was possible).
// A second thread looks after the client meanwhile.
Status serve_session(Channel& channel, const ServerOptions& options) noexcept;
// The same in one thread: without heartbeats, and a cancel is seen when it is too late.
Status serve_session_alone(Channel& channel, const ServerOptions& options) noexcept;
// The same over a link of the caller's, in this thread.
Status serve_session_over(ServerLink& link, const ServerOptions& options) noexcept;

}  // namespace tapml::rpc
