#include "rpc/session/blob_table.h"

#include "rpc/session/wire.h"

namespace tapml::rpc {

Status BlobTable::begin(uint64_t id, int64_t size,
                        const std::optional<Sha256Digest>& hash) noexcept {
  const auto bytes = static_cast<uint64_t>(size);
  if (size < 0 || bytes > most_ - bytes_) {
    return fail(platform_error(PlatformFault::kLimit, "a blob of " + std::to_string(size) +
                                                          " bytes; the session has room for " +
                                                          std::to_string(most_ - bytes_)));
  }
  bytes_ += bytes;
  blobs_[id] = {bytes, hash, {}};
  return {};
}

Status BlobTable::check_part(uint64_t id, uint64_t bytes) const noexcept {
  const Blob& blob = blobs_.at(id);
  if (bytes <= blob.bytes - blob.data.size()) return {};
  return fail(internal_error("a blob has more bytes than announced"));
}

std::span<std::byte> BlobTable::extend(uint64_t id, uint64_t bytes) noexcept {
  std::vector<std::byte>& data = blobs_.at(id).data;
  const size_t at = data.size();
  data.resize(at + static_cast<size_t>(bytes));
  return std::span(data).subspan(at);
}

void BlobTable::fill(uint64_t id, std::vector<std::byte> data) noexcept {
  blobs_.at(id).data = std::move(data);
}

Result<BlobTable::Content> BlobTable::take(uint64_t id) noexcept {
  const auto node = blobs_.extract(id);
  Blob& blob = node.mapped();
  bytes_ -= blob.bytes;
  if (blob.data.size() != blob.bytes) {
    return fail(internal_error("a blob of " + std::to_string(blob.bytes) + " bytes has only " +
                               std::to_string(blob.data.size())));
  }
  if (blob.hash) {
    const Sha256Digest hash = sha256(blob.data);
    if (hash != *blob.hash) {
      Error error = protocol_error("the data received does not match its hash");
      error.expected = to_hex(*blob.hash);
      error.found = to_hex(hash);
      error.hint = "it was altered in transit, and is neither used nor kept";
      return fail(std::move(error));
    }
  }
  return Content{std::move(blob.data), blob.hash};
}

}  // namespace tapml::rpc
