#include "runtime/storage_pool.h"

#include <algorithm>

#include "base/rounding.h"

namespace tapml::runtime {

namespace {

// A step of a model is one call, or two with the sampler's; while it runs, the caller still holds
// the result of the step before. So two storages take turns, each used in every fourth call.
constexpr int64_t kIdleCalls = 5;

// The size that Storage::allocate() uses; a size that it rejects stays unchanged.
int64_t padded(int64_t bytes) {
  constexpr int64_t kBlock = 16;
  return bytes < 0 || bytes > INT64_MAX - kBlock ? bytes : round_up(bytes, kBlock);
}

}  // namespace

Result<std::shared_ptr<Storage>> StoragePool::allocate(int64_t asked) noexcept {
  const int64_t bytes = padded(asked);
  Entry* best = nullptr;
  int64_t held = 0;
  for (Entry& entry : entries_) {
    if (!is_free(entry)) {
      held += entry.storage->bytes();
    } else if (!best && entry.storage->bytes() == bytes) {
      best = &entry;
    }
  }
  // On overflow, the peak exceeds any memory.
  if (__builtin_add_overflow(held, bytes, &held)) held = INT64_MAX;
  peak_bytes_ = std::max(peak_bytes_, held);
  if (!best) {
    make_room(bytes);
    auto storage = Storage::allocate(session_, bytes);
    if (!storage && storage.error().fault == PlatformFault::kOutOfMemory) {
      // Idle storages of other sizes may hold the missing memory.
      std::erase_if(entries_, is_free);
      storage = Storage::allocate(session_, bytes);
    }
    if (!storage) return fail(std::move(storage).error());
    best = &entries_.emplace_back(Entry{std::move(*storage)});
  }
  best->last_call = call_;
  best->storage->written();
  return best->storage;
}

// Releases idle storages, the least recently used first, until `bytes` more stay within the peak.
void StoragePool::make_room(int64_t bytes) noexcept {
  int64_t total = bytes;
  for (const Entry& entry : entries_) total += entry.storage->bytes();
  while (total > peak_bytes_) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (is_free(*it) && (oldest == entries_.end() || it->last_call < oldest->last_call)) {
        oldest = it;
      }
    }
    if (oldest == entries_.end()) return;
    total -= oldest->storage->bytes();
    entries_.erase(oldest);
  }
}

void StoragePool::end_call() noexcept {
  std::erase_if(entries_, [this](const Entry& entry) {
    return is_free(entry) && entry.last_call <= call_ - kIdleCalls;
  });
  ++call_;
}

}  // namespace tapml::runtime
