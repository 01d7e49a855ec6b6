// Blobs that are being uploaded to the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace tapml::rpc {

class BlobTable {
 public:
  // `most`: the limit on the bytes of all blobs at one time.
  explicit BlobTable(uint64_t most) : most_(most) {}

  // Begins a blob of `bytes` bytes, which come later. PlatformError (kLimit) beyond the limit.
  Status begin(uint64_t id, int64_t bytes, const std::optional<Sha256Digest>& hash) noexcept;
  bool contains(uint64_t id) const noexcept { return blobs_.contains(id); }
  // Ok if the blob, which must exist, still lacks at least `bytes`.
  Status check_part(uint64_t id, uint64_t bytes) const noexcept;
  // Room for the next bytes of the blob, after check_part() was ok. Memory grows with the bytes
  // that arrived, not with those promised.
  std::span<std::byte> extend(uint64_t id, uint64_t bytes) noexcept;
  void fill(uint64_t id, std::vector<std::byte> data) noexcept;

  struct Content {
    std::vector<std::byte> data;
    std::optional<Sha256Digest> hash;  // as promised, and verified
  };
  // Removes and returns the whole blob, which must exist. Fails if bytes are missing, with a
  // protocol error if they do not match the hash.
  Result<Content> take(uint64_t id) noexcept;

 private:
  struct Blob {
    uint64_t bytes = 0;  // promised
    std::optional<Sha256Digest> hash;
    std::vector<std::byte> data;
  };

  std::unordered_map<uint64_t, Blob> blobs_;
  uint64_t bytes_ = 0;  // of all blobs
  const uint64_t most_;
};

}  // namespace tapml::rpc
