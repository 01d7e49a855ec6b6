// Runtime tensors: (session, buffer, byte offset, shape, dtype).
#pragma once

#include <array>
#include <atomic>

#include "runtime/extents.h"
#include "runtime/session.h"
#include "tensor/host_tensor.h"

namespace tapml::runtime {

// A buffer of a session, released with the last reference. `version` counts writes: copies on other
// sessions, which are keyed by the id, are valid until their bytes are written_since().
class Storage {
 public:
  static Result<std::shared_ptr<Storage>> allocate(Session& session, int64_t bytes) noexcept;
  // Takes over a buffer of `session` with `bytes`.
  static Result<std::shared_ptr<Storage>> adopt(Session& session, BufferId buffer,
                                                int64_t bytes) noexcept;
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Session& session() const { return *session_; }
  BufferId buffer() const { return buffer_; }
  int64_t bytes() const { return bytes_; }
  uint64_t id() const { return id_; }  // unique in this process
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void written() { written(0, bytes_); }
  void written(int64_t offset, int64_t bytes) {
    const uint64_t version = version_.fetch_add(1, std::memory_order_relaxed) + 1;
    Write& write = writes_[version % kWrites];
    write.begin.store(offset, std::memory_order_relaxed);
    write.end.store(offset + bytes, std::memory_order_relaxed);
  }
  // Whether the `bytes` from `offset` on may have been written after `version`: distinguishes
  // tensors within one storage, as far as the write history goes back.
  bool written_since(uint64_t version, int64_t offset, int64_t bytes) const;
  // Calls take(offset, bytes) for each range that may have been written since: individual ranges as
  // far as the history goes back, else the whole storage.
  template <class Take>
  void for_each_write_since(uint64_t version, Take&& take) const {
    const uint64_t now = this->version();
    if (now - version > kWrites) return take(int64_t{0}, bytes_);
    for (uint64_t v = version + 1; v <= now; ++v) {
      const Write& write = writes_[v % kWrites];
      const int64_t begin = write.begin.load(std::memory_order_relaxed);
      take(begin, write.end.load(std::memory_order_relaxed) - begin);
    }
  }
  // The device memory of the buffer if the session is local, else null.
  DeviceMemory* memory() const { return memory_.get(); }
  // Keeps the bytes alive, even beyond the session, if nothing may ever write them; else null.
  std::shared_ptr<const void> lasting_memory() const;

 private:
  Storage() = default;
  Session* session_ = nullptr;
  BufferId buffer_{};
  std::shared_ptr<DeviceMemory> memory_;
  int64_t bytes_ = 0;
  uint64_t id_ = 0;
  std::atomic<uint64_t> version_{0};
  // The last writes, by version.
  static constexpr size_t kWrites = 32;
  struct Write {
    std::atomic<int64_t> begin{0}, end{0};
  };
  std::array<Write, kWrites> writes_;
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

// A new tensor; its storage is padded to 16 bytes.
Result<Tensor> make_tensor(Session& session, DType dtype, const Shape& shape) noexcept;
Result<Tensor> upload(Session& session, const HostTensor& tensor,
                      StreamId stream = kDefaultStream) noexcept;
// Tensors that are the same in every run: a remote may have their bytes already
// (Session::write_contents). `in_place`: a device that reads host memory reads these in place and
// keeps their owners; nothing is copied then, and writes change the host's tensors.
Result<std::vector<Tensor>> upload_contents(Session& session,
                                            std::span<const HostTensor* const> tensors,
                                            StreamId stream = kDefaultStream,
                                            Deadline deadline = {}, bool in_place = false) noexcept;
// Waits for the bytes.
Result<HostTensor> download(const Tensor& tensor, StreamId stream = kDefaultStream,
                            Deadline deadline = {}) noexcept;

}  // namespace tapml::runtime
