#include "device/watched/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/rounding.h"
#include "device/inline/inline_memory.h"

namespace tapml::device {

namespace {

constexpr std::byte kSlack{0x6b};
constexpr size_t kLeastZone = size_t{64} << 10;

bool is_slack(const std::byte* begin, const std::byte* end) {
  const auto count = static_cast<size_t>(end - begin);
  return count == 0 || (*begin == kSlack && std::memcmp(begin, begin + 1, count - 1) == 0);
}

}  // namespace

std::shared_ptr<GuardedMemory> GuardedMemory::allocate(int64_t size, bool at_end) noexcept {
  static const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<size_t>(size);
  const size_t touched = round_up(bytes + kInlineAlignment, kPage);
  void* map = MAP_FAILED;
  size_t zone = kZone;
  for (; zone >= kLeastZone && map == MAP_FAILED; zone /= 64) {
    map = ::mmap(nullptr, touched + 2 * zone, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map != MAP_FAILED) break;
  }
  if (map == MAP_FAILED) return nullptr;
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): running out of these few bytes is fatal
  std::shared_ptr<GuardedMemory> memory(new GuardedMemory);
  memory->map_ = static_cast<std::byte*>(map);
  memory->mapped_ = touched + 2 * zone;
  memory->pages_ = memory->map_ + zone;
  memory->pages_end_ = memory->pages_ + touched;
  memory->size_ = size;
  if (::mprotect(memory->pages_, touched, PROT_READ | PROT_WRITE) != 0) return nullptr;
  const size_t room = touched - kInlineAlignment - bytes;
  memory->data_ = memory->pages_ + (at_end ? room / kInlineAlignment * kInlineAlignment : 0);
  std::fill(memory->pages_, memory->data_, kSlack);
  std::fill(memory->data_ + bytes, memory->pages_end_, kSlack);
  return memory;
}

GuardedMemory::~GuardedMemory() {
  if (map_ != nullptr) ::munmap(map_, mapped_);
}

std::optional<int64_t> GuardedMemory::take_stray() noexcept {
  // Kernels may store whole 16-byte vectors, even over the end of an output.
  std::byte* const end = data_ + round_up(static_cast<size_t>(size_), size_t{16});
  std::optional<int64_t> stray;
  if (!is_slack(pages_, data_)) {
    const std::byte* at = data_;
    while (*--at == kSlack) {
    }
    stray = at - data_;
  } else if (!is_slack(end, pages_end_)) {
    stray = std::find_if(end, pages_end_, [](std::byte byte) { return byte != kSlack; }) - data_;
  }
  if (stray) {
    std::fill(pages_, data_, kSlack);
    std::fill(end, pages_end_, kSlack);
  }
  return stray;
}

}  // namespace tapml::device
