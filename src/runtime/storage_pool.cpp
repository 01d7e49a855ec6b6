#include "runtime/storage_pool.h"

#include <algorithm>

namespace tapml::runtime {

namespace {

// A free storage serves a smaller request when little of it is wasted.
bool fits(int64_t has, int64_t bytes) { return has >= bytes && has - bytes <= bytes / 4 + 4096; }

}  // namespace

Result<std::shared_ptr<Storage>> StoragePool::allocate(int64_t bytes) noexcept {
  Entry* best = nullptr;
  int64_t held = 0;
  for (Entry& entry : entries_) {
    if (!is_free(entry)) {
      held += entry.asked;
    } else if (fits(entry.storage->bytes(), bytes) &&
               (!best || entry.storage->bytes() < best->storage->bytes())) {
      best = &entry;
    }
  }
  if (!best) {
    auto storage = Storage::allocate(session_, bytes);
    if (!storage && storage.error().fault == PlatformFault::kOutOfMemory) {
      // Idle storages of other sizes may be what is missing.
      std::erase_if(entries_, is_free);
      storage = Storage::allocate(session_, bytes);
    }
    if (!storage) return fail(std::move(storage).error());
    best = &entries_.emplace_back(Entry{std::move(*storage)});
  }
  best->asked = bytes;
  best->last_call = call_;
  best->storage->written();
  peak_bytes_ = std::max(peak_bytes_, held + bytes);
  return best->storage;
}

void StoragePool::end_call() noexcept {
  std::erase_if(entries_, [this](const Entry& entry) {
    return is_free(entry) && entry.last_call < call_ - 1;
  });
  ++call_;
}

}  // namespace tapml::runtime
