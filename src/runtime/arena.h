// Scratch memory of kernels.
#pragma once

#include <map>

#include "runtime/lock.h"
#include "runtime/tensor.h"

namespace tapml::runtime {

// One buffer per stream, which only grows. Work of a stream runs in order, so its kernels can share
// the same bytes.
class Arena {
 public:
  explicit Arena(Session& session) : session_(session) {}
  // Memory of at least `bytes`, valid for the next work enqueued on `stream`.
  Result<std::shared_ptr<Storage>> get(StreamId stream, int64_t bytes) noexcept;

 private:
  Session& session_;
  Lock lock_;
  std::map<StreamId, std::shared_ptr<Storage>> storages_;
};

}  // namespace tapml::runtime
