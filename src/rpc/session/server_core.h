// Serves one session: takes its requests in order, and has its services answer them.
#pragma once

#include <string>

#include "rpc/session/server_blobs.h"
#include "rpc/session/server_calls.h"
#include "rpc/session/server_channel.h"
#include "rpc/session/server_device.h"

namespace tapml::rpc {

class ServerCore {
 public:
  ServerCore(ServerLink& link, const ServerOptions& options)
      : options_(options),
        channel_(link, options),
        device_(channel_),
        blobs_(channel_, device_),
        calls_(channel_, device_,
               [this] { return take_frame(Clock::now() + options_.limits.idle); }) {}

  // As serve_session().
  Status serve() noexcept;

 private:
  Status serve_requests() noexcept;
  Status handshake() noexcept;
  Status greet(const wire::Hello& hello) noexcept;
  Status open(const std::string& target) noexcept;
  Status take_frame(Clock::time_point until) noexcept;
  Status run(const wire::Requests& frame) noexcept;
  Status run(uint64_t id, const wire::Request& request) noexcept;
  // `use` takes the bytes of a blob that has arrived.
  template <class Use>
  Status with_blob(uint64_t blob, Use&& use) noexcept;
  Status release(const wire::Release& request) noexcept;
  void release(wire::HandleKind kind, uint64_t id) noexcept;

  const ServerOptions& options_;
  ServerChannel channel_;
  DeviceService device_;
  BlobService blobs_;
  CallService calls_;
  uint64_t requests_ = 0;  // received so far
};

}  // namespace tapml::rpc
