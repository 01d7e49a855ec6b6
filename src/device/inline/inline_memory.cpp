#include "device/inline/inline_memory.h"

#include <cstdlib>

namespace tapml::device {

namespace {

class InlineMemory final : public runtime::DeviceMemory {
 public:
  InlineMemory(void* block, int64_t size)
      : block_(block), data_(static_cast<std::byte*>(block)), size_(size) {
    const auto past = reinterpret_cast<uintptr_t>(block) % kInlineAlignment;
    if (past > 0) data_ += kInlineAlignment - past;
  }
  ~InlineMemory() override { std::free(block_); }
  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return data_; }

 private:
  void* block_;
  std::byte* data_;
  int64_t size_;
};

}  // namespace

std::shared_ptr<runtime::DeviceMemory> allocate_inline(int64_t size) {
  const auto bytes = static_cast<size_t>(size + 2 * kInlineAlignment);
#ifdef __wasm__
  void* block = std::malloc(bytes);  // calloc() would write every byte
#else
  void* block = std::calloc(bytes, 1);
#endif
  if (!block) return nullptr;
  return std::make_shared<InlineMemory>(block, size);
}

}  // namespace tapml::device
