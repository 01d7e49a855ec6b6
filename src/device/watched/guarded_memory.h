// Host memory between protected pages.
#pragma once

#include <optional>

#include "runtime/device.h"

namespace tapml::device {

// Aligned like inline memory; whole vectors may be loaded up to its end. The unused part of its
// first and last page holds a pattern; the pages before and after them end a process that accesses
// them. Small writes into the pattern are legal, because storage is padded to 16 bytes.
class GuardedMemory final : public runtime::DeviceMemory {
 public:
  // If the address space allows it, this many bytes on either side are protected.
  static constexpr size_t kZone = size_t{256} << 20;

  // `size` bytes that end, or begin, at a protected page; null if there is no memory.
  static std::shared_ptr<GuardedMemory> allocate(int64_t size, bool at_end) noexcept;
  ~GuardedMemory() override;
  GuardedMemory(const GuardedMemory&) = delete;

  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return data_; }
  // Includes the protected pages.
  uintptr_t zone_begin() const noexcept { return reinterpret_cast<uintptr_t>(map_); }
  uintptr_t zone_end() const noexcept { return zone_begin() + mapped_; }

  // The offset, from the start of the memory, of the nearest byte that was written outside of it,
  // if any. Resets it.
  std::optional<int64_t> take_stray() noexcept;

 private:
  GuardedMemory() = default;
  std::byte* map_ = nullptr;
  size_t mapped_ = 0;
  std::byte *pages_ = nullptr, *pages_end_ = nullptr;  // the accessible pages
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace tapml::device
