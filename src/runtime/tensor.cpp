#include "runtime/tensor.h"

#include <limits>
#include <new>

#include "base/rounding.h"
#include "runtime/local_session.h"
#include "tensor/uninitialized.h"

namespace tapml::runtime {

namespace {

// Whole 16-byte vectors may be loaded up to the end of a tensor.
constexpr int64_t kPadding = 16;

uint64_t next_storage_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

}  // namespace

Result<std::shared_ptr<Storage>> Storage::allocate(Session& session, int64_t bytes) noexcept {
  if (bytes < 0) {
    return fail(internal_error("a storage of " + std::to_string(bytes) + " bytes"));
  }
  if (bytes > std::numeric_limits<int64_t>::max() - kPadding) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a storage of " + std::to_string(bytes) + " bytes is too large"));
  }
  int64_t padded = round_up(bytes, kPadding);
  BufferId buffer{session.new_handle()};
  TAPML_TRY(session.allocate(buffer, padded));
  return adopt(session, buffer, padded);
}

Result<std::shared_ptr<Storage>> Storage::adopt(Session& session, BufferId buffer,
                                                int64_t bytes) noexcept {
  std::shared_ptr<Storage> storage(new (std::nothrow) Storage);
  if (!storage) return fail(platform_error(PlatformFault::kOutOfMemory, "no memory for a storage"));
  storage->session_ = &session;
  storage->buffer_ = buffer;
  storage->bytes_ = bytes;
  if (LocalSession* local = session.local()) storage->memory_ = local->memory(buffer);
  storage->id_ = next_storage_id();
  return storage;
}

bool Storage::written_since(uint64_t version, int64_t offset, int64_t bytes) const {
  const uint64_t now = this->version();
  if (now - version > kWrites) return true;
  for (uint64_t v = version + 1; v <= now; ++v) {
    const Write& write = writes_[v % kWrites];
    if (write.begin.load(std::memory_order_relaxed) < offset + bytes &&
        offset < write.end.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

std::shared_ptr<const void> Storage::lasting_memory() const {
  return memory_ && memory_->read_only() ? memory_ : nullptr;
}

Storage::~Storage() {
  memory_.reset();
  if (session_) session_->release(buffer_);
}

Result<Tensor> make_tensor(Session& session, DType dtype, const Shape& shape) noexcept {
  TAPML_ASSIGN(int64_t bytes, checked_byte_count(dtype, shape));
  TAPML_ASSIGN(std::shared_ptr<Storage> storage, Storage::allocate(session, bytes));
  return Tensor{std::move(storage), 0, dtype, shape};
}

Result<Tensor> upload(Session& session, const HostTensor& tensor, StreamId stream) noexcept {
  TAPML_ASSIGN(Tensor copy, make_tensor(session, tensor.dtype(), tensor.shape()));
  TAPML_TRY(session.write(stream, {copy.storage->buffer(), 0}, tensor.bytes()));
  copy.storage->written();
  return copy;
}

namespace {

// Shares `tensor` in place; no storage if the device cannot read it there.
Result<std::shared_ptr<Storage>> share(Session& session, const HostTensor& tensor) noexcept {
  LocalSession* local = session.local();
  const std::span<const std::byte> bytes = tensor.bytes();
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (!local || address % dtype_bytes(tensor.dtype()) != 0) return nullptr;
  std::shared_ptr<DeviceMemory> memory = local->device().share(bytes, tensor.owner());
  if (!memory) return nullptr;
  const BufferId buffer{session.new_handle()};
  TAPML_TRY(local->adopt(buffer, std::move(memory)));
  return Storage::adopt(session, buffer, static_cast<int64_t>(bytes.size()));
}

}  // namespace

Result<std::vector<Tensor>> upload_contents(Session& session,
                                            std::span<const HostTensor* const> tensors,
                                            StreamId stream, Deadline deadline,
                                            bool in_place) noexcept {
  std::vector<Tensor> result;
  std::vector<ContentWrite> contents;
  for (const HostTensor* tensor : tensors) {
    std::shared_ptr<Storage> shared;
    if (in_place) {
      TAPML_ASSIGN(shared, share(session, *tensor));
    }
    if (shared) {
      result.push_back({std::move(shared), 0, tensor->dtype(), tensor->shape()});
      continue;
    }
    TAPML_ASSIGN(Tensor copy, make_tensor(session, tensor->dtype(), tensor->shape()));
    contents.push_back({{copy.storage->buffer(), 0}, tensor->bytes()});
    result.push_back(std::move(copy));
  }
  TAPML_TRY(session.write_contents(stream, contents, deadline));
  for (const Tensor& tensor : result) tensor.storage->written();
  return result;
}

Result<HostTensor> download(const Tensor& tensor, StreamId stream, Deadline deadline) noexcept {
  if (!tensor.storage) return fail(internal_error("a tensor without storage is read"));
  HostTensor copy = uninitialized_tensor(tensor.dtype, tensor.shape);
  TAPML_TRY(tensor.storage->session().read(stream, {tensor.storage->buffer(), tensor.offset},
                                           copy.mutable_bytes(), deadline));
  return copy;
}

}  // namespace tapml::runtime
