// Memory of the host between pages that nobody may touch.
#pragma once

#include <optional>

#include "runtime/device.h"

namespace tapml::device {

// Aligned as InlineMemory, and whole vectors may be loaded up to its end. What is left of its first
// and last page holds a pattern; the pages in front of and behind them end the process that reads
// or writes them. A little is written there before that: storage is padded to 16 bytes.
class GuardedMemory final : public runtime::DeviceMemory {
 public:
  // Where the address space allows it, so many bytes on either side are protected.
  static constexpr size_t kZone = size_t{256} << 20;

  // `size` bytes that end, or begin, right at a protected page; null where there is no memory.
  static std::shared_ptr<GuardedMemory> allocate(int64_t size, bool at_end) noexcept;
  ~GuardedMemory() override;
  GuardedMemory(const GuardedMemory&) = delete;

  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return data_; }
  // With the protected pages.
  uintptr_t zone_begin() const noexcept { return reinterpret_cast<uintptr_t>(map_); }
  uintptr_t zone_end() const noexcept { return zone_begin() + mapped_; }

  // A byte beside the memory that was written, from its begin: the nearest one. It is forgotten.
  std::optional<int64_t> take_stray() noexcept;

 private:
  GuardedMemory() = default;
  std::byte* map_ = nullptr;
  size_t mapped_ = 0;
  std::byte *pages_ = nullptr, *pages_end_ = nullptr;  // what may be touched
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace tapml::device
