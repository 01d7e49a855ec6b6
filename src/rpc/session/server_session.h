// The server's end of a RemoteSession: takes requests from a channel and runs them on a device of
// this process. Incoming data is not trusted: sizes, handles, ranges, dtypes and indices are
// checked before anything is allocated or run.
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
  uint64_t code_bytes = uint64_t{4} << 30;      // of all modules and executables of a session
  int64_t memory_bytes = 0;                     // of all buffers together; 0: the device's limit
  size_t handles = 1 << 20;                     // alive at once, of all kinds
  std::chrono::milliseconds handshake{10'000};  // from the connection to a valid hello
  std::chrono::milliseconds idle{600'000};      // without a request; heartbeats do not count
  std::chrono::milliseconds heartbeat{2'000};   // interval while a request runs
};

struct ServerOptions {
  ServerLimits limits;
  std::string token;  // that a client must present; empty: none
  // Opens the device of a target text ("cpu:threads=1"), which comes from the client.
  std::function<Result<std::shared_ptr<runtime::Device>>(const std::string& target)> open_device;
  // Opens the store of weights and modules that outlives sessions; unset: none. The store is closed
  // with the session.
  std::function<std::unique_ptr<ContentStore>()> open_contents;
  // For payloads, if the client has the same method; null: none.
  std::shared_ptr<Compressor> compressor;
  Compression compression = Compression::kMeasured;
  // Keeps the last lines that the session logs, to report with failures; null: none are kept.
  RecentLines* recent = nullptr;
  // Returns what a status request shows, as one JSON text; unset: nothing.
  std::function<std::string()> describe;
  // Called with a line about each session: opened, refused, ended.
  std::function<void(const std::string&)> log;
  // Called when a request begins (true), which ends the previous one, and when none runs any more
  // (false), for watchdogs. Called on one thread at a time; heartbeats and the wait for the next
  // request are not requests.
  std::function<void(bool running)> activity;
  // Called after a hello with the right token, before the device is opened. An error ends the
  // session, and is reported to the client.
  std::function<Status()> admit;
  // Called when the session is over, before its device resources are released: that waits for all
  // of their work, which may never end.
  std::function<void()> ended;
};

// The head of a frame (without payload) that ends a session with `error` at any time, even in the
// handshake: sent by a process that outlives the one that served the session.
std::vector<std::byte> encode_failure(const Error& error,
                                      const std::vector<std::string>& log = {}) noexcept;
// The head of a heartbeat frame.
std::vector<std::byte> encode_heartbeat(uint64_t request, int64_t done, int64_t total) noexcept;

// Serves one session until the client leaves (ok) or breaks the protocol, presents a wrong token or
// is idle for too long (an error, which is sent to the client if possible).
// A second thread attends to the client meanwhile.
Status serve_session(Channel& channel, const ServerOptions& options) noexcept;
// The same on one thread: without heartbeats, and a cancel is seen too late.
Status serve_session_alone(Channel& channel, const ServerOptions& options) noexcept;
// The same over a link of the caller's, on this thread.
Status serve_session_over(ServerLink& link, const ServerOptions& options) noexcept;

}  // namespace tapml::rpc
