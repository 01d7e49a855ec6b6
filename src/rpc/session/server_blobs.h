// Blobs that a client uploads, and contents that are kept between sessions.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "rpc/session/blob_table.h"
#include "rpc/session/server_device.h"

namespace tapml::rpc {

class BlobService {
 public:
  BlobService(ServerChannel& channel, DeviceService& device)
      : channel_(channel), device_(device), blobs_(channel.limits().module_bytes) {}

  // Keeps contents there, for clients with this token; null: nowhere.
  void open_contents(std::unique_ptr<ContentStore> contents, std::string_view token);
  bool keeps_contents() const { return contents_ != nullptr; }

  // These return ok, or the request's own failure.
  Status handle(const wire::BeginBlob& request) noexcept;
  Status handle(const wire::BlobPart& request) noexcept;
  Status handle(const wire::WriteBlob& request) noexcept;
  // These return whether the content was found.
  Result<bool> handle(const wire::FindBlob& request) noexcept;
  Result<bool> handle(const wire::WriteContent& request) noexcept;

  // The bytes of a whole blob, which is released.
  Result<std::vector<std::byte>> take(uint64_t id) noexcept;

 private:
  Status begin_blob(uint64_t id, int64_t bytes, const std::optional<Sha256Digest>& hash) noexcept;
  std::string content_key(const Sha256Digest& hash) const;
  // The content of `bytes` bytes with the hash; nothing if it is not kept, or was altered.
  std::optional<std::vector<std::byte>> find_content(const Sha256Digest& hash,
                                                     uint64_t bytes) noexcept;

  ServerChannel& channel_;
  DeviceService& device_;
  BlobTable blobs_;
  std::unique_ptr<ContentStore> contents_;
  Sha256Digest secret_{};  // of the client's token: selects its keys in contents_
};

}  // namespace tapml::rpc
