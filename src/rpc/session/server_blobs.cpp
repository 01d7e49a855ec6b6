#include "rpc/session/server_blobs.h"

#include <tuple>

#include "runtime/session_errors.h"

namespace tapml::rpc {

using wire::HandleKind;

Status BlobService::begin_blob(uint64_t id, int64_t size,
                               const std::optional<Sha256Digest>& hash) noexcept {
  return device_.make(HandleKind::Blob, id, [&] { return blobs_.begin(id, size, hash); });
}

Status BlobService::handle(const wire::BeginBlob& request) noexcept {
  const auto hash = digest_of(request.hash());
  if (request.hash() && !hash) return fail(internal_error("the hash of a blob is not a SHA-256"));
  return begin_blob(request.id(), request.bytes(), hash);
}

Status BlobService::handle(const wire::BlobPart& request) noexcept {
  const uint64_t size = request.unpacked() > 0 ? request.unpacked() : channel_.payload();
  Status status = device_.handles().known(HandleKind::Blob, request.id());
  if (status) status = blobs_.check_part(request.id(), size);
  if (status && request.unpacked() > 0) status = channel_.check_packed(size, size);
  if (!status) {
    std::ignore = channel_.skip_payload();
    return status;
  }
  const std::span<std::byte> part = blobs_.extend(request.id(), size);
  if (request.unpacked() > 0) return channel_.take_packed(part);
  std::ignore = channel_.take(part);
  return {};
}

Result<std::vector<std::byte>> BlobService::take(uint64_t id) noexcept {
  Status status = device_.handles().known(HandleKind::Blob, id);
  device_.handles().erase(HandleKind::Blob, id);
  if (!blobs_.contains(id)) {
    TAPML_TRY(status);
    return fail(runtime::unknown_handle("blob", id));
  }
  TAPML_ASSIGN(BlobTable::Content blob, blobs_.take(id));
  if (blob.hash && contents_) contents_->put(content_key(*blob.hash), blob.data);
  return std::move(blob.data);
}

void BlobService::open_contents(std::unique_ptr<ContentStore> contents, std::string_view token) {
  contents_ = std::move(contents);
  secret_ = sha256("tapml contents of " + std::string(token));
}

// Keys depend on the token: clients with another token do not learn what this one sent.
std::string BlobService::content_key(const Sha256Digest& hash) const {
  Sha256 key;
  key.update(std::as_bytes(std::span(secret_)));
  key.update(std::as_bytes(std::span(hash)));
  return to_hex(key.digest());
}

std::optional<std::vector<std::byte>> BlobService::find_content(const Sha256Digest& hash,
                                                                uint64_t bytes) noexcept {
  if (!contents_) return {};
  auto content = contents_->get(content_key(hash));
  if (!content || content->size() != bytes || sha256(*content) != hash) return {};
  return content;
}

Result<bool> BlobService::handle(const wire::FindBlob& request) noexcept {
  const auto hash = digest_of(request.hash());
  if (!hash) return fail(internal_error("the hash of a blob is not a SHA-256"));
  TAPML_TRY(channel_.awaited());
  auto content = find_content(*hash, static_cast<uint64_t>(request.bytes()));
  if (!content) return false;
  Status begun = begin_blob(request.id(), request.bytes(), {});
  if (!begun) {  // the answer shows that the name is free
    if (!blobs_.contains(request.id())) device_.handles().erase(HandleKind::Blob, request.id());
    return fail(std::move(begun).error());
  }
  blobs_.fill(request.id(), std::move(*content));
  return true;
}

Result<bool> BlobService::handle(const wire::WriteContent& request) noexcept {
  TAPML_TRY(device_.handles().known(HandleKind::Stream, request.stream()));
  TAPML_TRY(device_.place_to(request.buffer(), request.offset(), request.bytes(), "write"));
  const auto hash = digest_of(request.hash());
  if (!hash) return fail(internal_error("the hash of a content is not a SHA-256"));
  TAPML_TRY(channel_.awaited());
  if (request.bytes() > static_cast<int64_t>(kContentBytes)) return false;
  const auto content = find_content(*hash, static_cast<uint64_t>(request.bytes()));
  if (!content) return false;
  TAPML_TRY(device_.write(request.stream(), request.buffer(), request.offset(), *content));
  return true;
}

Status BlobService::handle(const wire::WriteBlob& request) noexcept {
  TAPML_ASSIGN(const std::vector<std::byte> bytes, take(request.blob()));
  return device_.write(request.stream(), request.buffer(), request.offset(), bytes);
}

}  // namespace tapml::rpc
