#include "runtime/arena.h"

namespace tapml::runtime {

Result<std::shared_ptr<Storage>> Arena::get(StreamId stream, int64_t bytes) noexcept {
  LockGuard guard(lock_);
  std::shared_ptr<Storage>& storage = storages_[stream];
  if (storage && storage->bytes() >= bytes) return storage;
  storage.reset();
  TAPML_ASSIGN(storage, Storage::allocate(session_, bytes));
  return storage;
}

}  // namespace tapml::runtime
