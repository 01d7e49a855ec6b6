// Tensors of the runtime: (session, buffer, byte offset, shape, dtype).
#pragma once

#include "runtime/extents.h"
#include "runtime/session.h"
#include "tensor/host_tensor.h"

namespace tapml::runtime {

// One buffer of a session, released with the last reference. `version` counts writes: copies on
// other sessions are keyed by (id, version).
class Storage {
 public:
  static Result<std::shared_ptr<Storage>> allocate(Session& session, int64_t bytes) noexcept;
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Session& session() const { return *session_; }
  BufferId buffer() const { return buffer_; }
  int64_t bytes() const { return bytes_; }
  uint64_t id() const { return id_; }  // unique in this process
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void written() { version_.fetch_add(1, std::memory_order_relaxed); }
  // The device's memory under the buffer where the session is local, else null.
  DeviceMemory* memory() const { return memory_.get(); }

 private:
  Storage() = default;
  Session* session_ = nullptr;
  BufferId buffer_{};
  std::shared_ptr<DeviceMemory> memory_;
  int64_t bytes_ = 0;
  uint64_t id_ = 0;
  std::atomic<uint64_t> version_{0};
};

struct Tensor {
  std::shared_ptr<Storage> storage;
  int64_t offset = 0;  // bytes
  DType dtype = DType::kF32;
  Extents shape;

  int64_t byte_size() const {
    return element_count(shape) * static_cast<int64_t>(dtype_bytes(dtype));
  }
};

// A fresh tensor; storage is padded to 16 bytes.
Result<Tensor> make_tensor(Session& session, DType dtype, Shape shape) noexcept;
Result<Tensor> upload(Session& session, const HostTensor& tensor,
                      StreamId stream = kDefaultStream) noexcept;
// Waits.
Result<HostTensor> download(const Tensor& tensor, StreamId stream = kDefaultStream) noexcept;

}  // namespace tapml::runtime
