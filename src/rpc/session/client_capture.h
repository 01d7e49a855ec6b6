// Passes the kernel calls that a remote VM captures to the client's sink.
#pragma once

#include "rpc/session/wire.h"
#include "runtime/capture.h"

namespace tapml::rpc {

// Checks and assembles the replies to one call. They may come from a hostile server: malformed data
// is kProtocol, which ends the session.
class CaptureReader {
 public:
  CaptureReader(const Executable& executable, runtime::CaptureSink& sink)
      : executable_(executable), sink_(sink) {}
  // Takes a reply and its payload, unpacked.
  Status take(const wire::Reply& reply, std::span<const std::byte> bytes) noexcept;

 private:
  Status take_content(const wire::Content& part, std::span<const std::byte> bytes) noexcept;
  Status take_call(const wire::Captured& captured) noexcept;

  const Executable& executable_;
  runtime::CaptureSink& sink_;
  // The content being received; it grows as parts arrive.
  std::string hash_;  // empty: none is being received
  DType dtype_ = DType::kF32;
  Shape shape_;
  int64_t bytes_ = 0;
  std::vector<std::byte> data_;
};

}  // namespace tapml::rpc
