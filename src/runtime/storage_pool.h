// Memory of the virtual machine's intermediate tensors, kept between calls.
#pragma once

#include <vector>

#include "runtime/tensor.h"

namespace tapml::runtime {

// Hands out storages and reuses them when nobody else holds them, so a model that runs once per
// token allocates only in its first steps. Reuse is safe because the VM uses a single stream. Idle
// storages never raise the total above the maximum in use at one time: the session's allocation for
// the VM peaks at exactly peak_bytes().
class StoragePool {
 public:
  explicit StoragePool(Session& session) : session_(session) {}

  // A storage of `bytes` with unspecified contents and a new version.
  Result<std::shared_ptr<Storage>> allocate(int64_t bytes) noexcept;
  // Ends one call of the VM: releases storages that none of the last five calls needed.
  void end_call() noexcept;
  // Maximum bytes in use at one time.
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Entry {
    std::shared_ptr<Storage> storage;
    int64_t last_call = 0;  // the last call that used it
  };
  void make_room(int64_t bytes) noexcept;
  static bool is_free(const Entry& entry) { return entry.storage.use_count() == 1; }

  Session& session_;
  std::vector<Entry> entries_;
  int64_t call_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace tapml::runtime
