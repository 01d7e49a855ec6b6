// Compresses payloads on connections that are slower than packing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rpc/session/condition.h"

namespace tapml::rpc {

// A compression method; the protocol's is zstd (host/zstd.h), which WebAssembly lacks. Thread-safe.
class Compressor {
 public:
  virtual ~Compressor() = default;
  // False if `packed` would not be smaller.
  virtual bool pack(std::span<const std::byte> bytes, std::vector<std::byte>& packed) noexcept = 0;
  // Fills `to` exactly, and never writes beyond it; false if the bytes do not fit it.
  virtual bool unpack(std::span<const std::byte> packed, std::span<std::byte> to) noexcept = 0;
};

enum class Compression : uint8_t {
  kMeasured,  // if the connection was measured to be slower than packing
  kAlways,    // if it makes a payload smaller
  kNever,     // packed payloads are still accepted
};

// Decides for each payload whether to pack it. Thread-safe.
class Packer {
 public:
  Packer(std::shared_ptr<Compressor> compressor, Compression mode)
      : compressor_(std::move(compressor)), mode_(mode) {}

  bool present() const { return compressor_ != nullptr; }
  // Allows packing: the other side can unpack.
  void enable() { enabled_ = true; }
  // Returns `packed`, filled, if packing pays, otherwise an empty span.
  std::span<const std::byte> pack(std::span<const std::byte> bytes,
                                  std::vector<std::byte>& packed) noexcept;
  bool unpack(std::span<const std::byte> packed, std::span<std::byte> to) noexcept {
    return compressor_ && compressor_->unpack(packed, to);
  }
  // Records how long the connection took to accept `bytes` of payload.
  void sent(size_t bytes, Clock::duration time) noexcept;

 private:
  // Smaller payloads are not packed.
  static constexpr size_t kLeastBytes = size_t{16} << 10;
  // If packing did not pay, it is tried again after this many payloads: contents change.
  static constexpr int kRest = 16;

  const std::shared_ptr<Compressor> compressor_;
  const Compression mode_;
  bool enabled_ = false;
  runtime::Lock lock_;  // guards these
  double way_ = 0;      // seconds per byte, averaged over recent payloads; 0: unknown
  int resting_ = 0;     // payloads until the next try
};

}  // namespace tapml::rpc
