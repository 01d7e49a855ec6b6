// What a machine elsewhere captures, on its way to the client's sink.
#pragma once

#include "rpc/session/wire.h"
#include "runtime/capture.h"

namespace tapml::rpc {

// Checks and puts together the replies to one call. Everything here may be a hostile server's:
// kProtocol for what makes no sense, which ends the session.
class CaptureReader {
 public:
  CaptureReader(const Executable& executable, runtime::CaptureSink& sink)
      : executable_(executable), sink_(sink) {}
  // The reply and what came behind it, unpacked.
  Status take(const wire::Reply& reply, std::span<const std::byte> bytes) noexcept;

 private:
  Status take_content(const wire::Content& part, std::span<const std::byte> bytes) noexcept;
  Status take_call(const wire::Captured& captured) noexcept;

  const Executable& executable_;
  runtime::CaptureSink& sink_;
  // The content that is coming in; it grows with what has come.
  std::string hash_;  // empty: none is
  DType dtype_ = DType::kF32;
  Shape shape_;
  int64_t bytes_ = 0;
  std::vector<std::byte> data_;
};

}  // namespace tapml::rpc
