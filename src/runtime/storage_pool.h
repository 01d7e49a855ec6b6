// Memory of the virtual machine's intermediate tensors, kept between calls.
#pragma once

#include <vector>

#include "runtime/tensor.h"

namespace tapml::runtime {

// Hands out storages and takes them back when nobody else holds them, so that a model that runs
// once a token asks the session for memory only in its first steps. Reuse is safe because the
// machine works in one stream. Idle storages never make it hold more than the most that was in use
// at one time: what the session allocates for it peaks at exactly peak_bytes().
class StoragePool {
 public:
  explicit StoragePool(Session& session) : session_(session) {}

  // A storage of `bytes`; its contents are unspecified and its version is new.
  Result<std::shared_ptr<Storage>> allocate(int64_t bytes) noexcept;
  // Ends one call of the machine: lets go of storages that neither it nor the one before needed.
  void end_call() noexcept;
  // The most bytes in use at one time.
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Entry {
    std::shared_ptr<Storage> storage;
    int64_t last_call = 0;  // that used it
  };
  void make_room(int64_t bytes) noexcept;
  static bool is_free(const Entry& entry) { return entry.storage.use_count() == 1; }

  Session& session_;
  std::vector<Entry> entries_;
  int64_t call_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace tapml::runtime
