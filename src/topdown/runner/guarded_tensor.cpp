#include "topdown/runner/guarded_tensor.h"

#include <algorithm>
#include <cstring>

namespace tapml::topdown {

namespace {

constexpr std::byte kGuard{0x5a};
// Bytes in memory at a time while a tensor is read back only to be compared.
constexpr int64_t kPart = int64_t{4} << 20;

// Kernels may store whole 16-byte vectors, also past the end of an output.
int64_t padded_bytes(int64_t bytes) { return (bytes + 15) / 16 * 16; }
int64_t image_bytes(int64_t bytes) { return 2 * kGuardBytes + padded_bytes(bytes); }

// Larger tensors are written from their own bytes, without an image of them.
constexpr int64_t kLargeWrite = int64_t{64} << 10;

// Writes `content` between guards. Writes begin at multiples of 16 bytes.
Status write_guarded(const runtime::Storage& storage, std::span<const std::byte> content) {
  const auto write = [&](int64_t at, std::span<const std::byte> bytes) {
    return storage.session().write(runtime::kDefaultStream, {storage.buffer(), at}, bytes);
  };
  int64_t at = 0, large = 0;
  std::vector<std::byte> image(kGuardBytes, kGuard);
  if (std::ssize(content) > kLargeWrite) {
    large = std::ssize(content) / 16 * 16;
    TAPML_TRY(write(0, image));
    TAPML_TRY(write(kGuardBytes, content.first(static_cast<size_t>(large))));
    image.clear();
    at = kGuardBytes + large;
  }
  const auto rest = content.subspan(static_cast<size_t>(large));
  image.insert(image.end(), rest.begin(), rest.end());
  image.resize(static_cast<size_t>(image_bytes(std::ssize(content)) - at), kGuard);
  return write(at, image);
}

int64_t different_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

int64_t changed_guards(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  const bool same = std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
  if (same && bytes[0] == kGuard) return 0;
  return std::ranges::count_if(bytes, [](std::byte byte) { return byte != kGuard; });
}

void add_out_of_bounds_writes(std::string& out_of_bounds_writes, int64_t count, const char* side,
                              const std::string& name) {
  if (count == 0) return;
  out_of_bounds_writes += (out_of_bounds_writes.empty() ? "" : ", ") + std::to_string(count) +
                          (count == 1 ? " byte " : " bytes ") + side + " " + name;
}

Status read_image(const runtime::Tensor& tensor, int64_t at, std::span<std::byte> bytes) {
  return tensor.storage->session().read(runtime::kDefaultStream, {tensor.storage->buffer(), at},
                                        bytes);
}

// Numbers of changed bytes before, inside and after a tensor.
struct Changed {
  int64_t in_front = 0, inside = 0, after = 0;

  // Compares `bytes` of a tensor's image at offset `at`; null: the inside may have changed.
  void take(int64_t at, std::span<const std::byte> bytes, int64_t tensor_bytes,
            const std::byte* before) {
    // The part of `bytes` between two offsets of the image.
    const auto between = [&](int64_t from, int64_t to) {
      const int64_t begin = std::clamp<int64_t>(from - at, 0, std::ssize(bytes));
      const int64_t end = std::clamp<int64_t>(to - at, begin, std::ssize(bytes));
      return bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    };
    const int64_t last = kGuardBytes + tensor_bytes, image = image_bytes(tensor_bytes);
    in_front += changed_guards(between(0, kGuardBytes));
    // The tensor's writer may also write the storage up to the next multiple of 16 bytes.
    after +=
        changed_guards(between(before ? last : kGuardBytes + padded_bytes(tensor_bytes), image));
    const auto content = between(kGuardBytes, last);
    if (!before || content.empty()) return;
    const int64_t from = std::max<int64_t>(at - kGuardBytes, 0);
    inside += different_bytes(content, {before + from, content.size()});
  }
  void add_to(std::string& out_of_bounds_writes, const std::string& name) const {
    add_out_of_bounds_writes(out_of_bounds_writes, in_front, "before", name);
    add_out_of_bounds_writes(out_of_bounds_writes, inside, "of", name);
    add_out_of_bounds_writes(out_of_bounds_writes, after, "after", name);
  }
};

}  // namespace

Result<runtime::Tensor> make_guarded(runtime::Session& session, const HostTensor& like,
                                     const HostTensor* content) {
  const auto bytes = static_cast<int64_t>(like.byte_size());
  TAPML_ASSIGN(auto storage, runtime::Storage::allocate(session, image_bytes(bytes)));
  if (content) {
    TAPML_TRY(write_guarded(*storage, content->bytes()));
  } else {
    TAPML_TRY(write_guarded(*storage, std::vector(static_cast<size_t>(bytes), kUnwritten)));
  }
  storage->written();
  return runtime::Tensor{std::move(storage), kGuardBytes, like.dtype(), like.shape()};
}

Result<HostTensor> read_guarded(const runtime::Tensor& tensor, const std::string& name,
                                std::string* out_of_bounds_writes) {
  const int64_t bytes = tensor.byte_size();
  std::vector<std::byte> image(static_cast<size_t>(image_bytes(bytes)));
  TAPML_TRY(read_image(tensor, 0, image));
  HostTensor result = HostTensor::zeros(tensor.dtype, tensor.shape);
  std::copy_n(image.begin() + kGuardBytes, bytes, result.mutable_bytes().begin());
  if (!out_of_bounds_writes) return result;
  Changed changed;
  changed.take(0, image, bytes, nullptr);
  changed.add_to(*out_of_bounds_writes, name);
  return result;
}

Status check_unchanged(const runtime::Tensor& tensor, const HostTensor& before,
                       const std::string& name, std::string& out_of_bounds_writes) {
  const int64_t bytes = tensor.byte_size(), end = image_bytes(bytes);
  std::vector<std::byte> part(static_cast<size_t>(std::min(end, kPart)));
  Changed changed;
  for (int64_t at = 0; at < end; at += std::ssize(part)) {
    part.resize(static_cast<size_t>(std::min(end - at, kPart)));
    TAPML_TRY(read_image(tensor, at, part));
    changed.take(at, part, bytes, before.bytes().data());
  }
  changed.add_to(out_of_bounds_writes, name);
  return {};
}

}  // namespace tapml::topdown
