// Payloads in fewer bytes, for ways that are slower than packing them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rpc/session/condition.h"

namespace tapml::rpc {

// A method of compression; the protocol's is zstd (host/zstd.h), which WebAssembly lacks. Safe from
// several threads.
class Compressor {
 public:
  virtual ~Compressor() = default;
  // False where `packed` would not be smaller.
  virtual bool pack(std::span<const std::byte> bytes, std::vector<std::byte>& packed) noexcept = 0;
  // Fills `to` exactly, and never more; false for bytes that do not.
  virtual bool unpack(std::span<const std::byte> packed, std::span<std::byte> to) noexcept = 0;
};

enum class Compression : uint8_t {
  kMeasured,  // where the way was seen to be slower than packing
  kAlways,    // where it makes a payload smaller
  kNever,     // what comes in packed is taken all the same
};

// Decides payload by payload. Safe from several threads.
class Packer {
 public:
  Packer(std::shared_ptr<Compressor> compressor, Compression mode)
      : compressor_(std::move(compressor)), mode_(mode) {}

  bool present() const { return compressor_ != nullptr; }
  // From now on payloads may be packed: the other side can unpack them.
  void enable() { enabled_ = true; }
  // `packed`, filled, where that is worth it; else empty.
  std::span<const std::byte> pack(std::span<const std::byte> bytes,
                                  std::vector<std::byte>& packed) noexcept;
  bool unpack(std::span<const std::byte> packed, std::span<std::byte> to) noexcept {
    return compressor_ && compressor_->unpack(packed, to);
  }
  // What the way took `bytes` of payload in.
  void sent(size_t bytes, Clock::duration time) noexcept;

 private:
  // Smaller payloads go out as they are.
  static constexpr size_t kLeastBytes = size_t{16} << 10;
  // Packing that did not pay is tried again after so many payloads: what is sent changes.
  static constexpr int kRest = 16;

  const std::shared_ptr<Compressor> compressor_;
  const Compression mode_;
  bool enabled_ = false;
  runtime::Lock lock_;  // guards these
  double way_ = 0;      // seconds a byte, an average of late ones; 0: not known yet
  int resting_ = 0;     // payloads before the next try
};

}  // namespace tapml::rpc
