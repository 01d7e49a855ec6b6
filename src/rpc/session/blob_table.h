// Blobs on their way to the server.
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
  // `most`: bytes of all blobs that are there at one time.
  explicit BlobTable(uint64_t most) : most_(most) {}

  // A blob of so many bytes begins; they come later. PlatformError (kLimit) where there is no room.
  Status begin(uint64_t id, int64_t bytes, const std::optional<Sha256Digest>& hash) noexcept;
  bool contains(uint64_t id) const noexcept { return blobs_.contains(id); }
  // Ok where the blob, which is there, lacks `bytes` or more.
  Status check_part(uint64_t id, uint64_t bytes) const noexcept;
  // The next bytes of the blob, for which check_part() was ok. Memory grows with what is there, not
  // with what was promised.
  std::span<std::byte> extend(uint64_t id, uint64_t bytes) noexcept;
  void fill(uint64_t id, std::vector<std::byte> data) noexcept;

  struct Content {
    std::vector<std::byte> data;
    std::optional<Sha256Digest> hash;  // that was promised, and holds
  };
  // The whole blob, which is there, and is gone. A failure where bytes are missing;
  // a protocol error where they are not those of the hash.
  Result<Content> take(uint64_t id) noexcept;

 private:
  struct Blob {
    uint64_t bytes = 0;  // promised
    std::optional<Sha256Digest> hash;
    std::vector<std::byte> data;
  };

  std::unordered_map<uint64_t, Blob> blobs_;
  uint64_t bytes_ = 0;  // of all of them
  const uint64_t most_;
};

}  // namespace tapml::rpc
