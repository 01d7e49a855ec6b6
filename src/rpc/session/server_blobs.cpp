// Blobs, and what is kept of them from session to session.
#include <tuple>

#include "rpc/session/server_core.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

using runtime::StreamId;
using wire::HandleKind;

Status ServerCore::begin_blob(uint64_t id, int64_t size,
                              const std::optional<Sha256Digest>& hash) noexcept {
  return make(HandleKind::Blob, id, [&]() -> Status {
    const auto bytes = static_cast<uint64_t>(size);
    if (size < 0 || bytes > options_.limits.module_bytes - blob_bytes_) {
      return fail(platform_error(PlatformFault::kLimit,
                                 "a blob of " + std::to_string(size) +
                                     " bytes; the session has room for " +
                                     std::to_string(options_.limits.module_bytes - blob_bytes_)));
    }
    blob_bytes_ += bytes;
    blobs_[id] = {bytes, hash, {}};
    return {};
  });
}

Status ServerCore::handle(const wire::BeginBlob& request) noexcept {
  const auto hash = digest_of(request.hash());
  if (request.hash() && !hash) return fail(internal_error("the hash of a blob is no SHA-256"));
  return begin_blob(request.id(), request.bytes(), hash);
}

// Memory grows with what is there, not with what was promised.
Status ServerCore::handle(const wire::BlobPart& request) noexcept {
  Status status = known(HandleKind::Blob, request.id());
  auto found = blobs_.find(request.id());
  const uint64_t size = request.unpacked() > 0 ? request.unpacked() : payload_;
  if (status && size > found->second.bytes - found->second.data.size()) {
    status = fail(internal_error("a blob has more bytes than it was to have"));
  }
  if (status && request.unpacked() > 0) status = check_packed(size, size);
  if (!status) {
    std::ignore = skip_payload();
    return status;
  }
  std::vector<std::byte>& data = found->second.data;
  const size_t at = data.size();
  data.resize(at + static_cast<size_t>(size));
  const auto part = std::span(data).subspan(at);
  if (request.unpacked() > 0) return take_packed(part);
  std::ignore = take(part);
  return {};
}

Result<std::vector<std::byte>> ServerCore::take_blob(uint64_t id) noexcept {
  Status status = known(HandleKind::Blob, id);
  if (names(HandleKind::Blob).erase(id) > 0) --handles_;
  auto found = blobs_.find(id);
  if (found == blobs_.end()) {
    TAPML_TRY(status);
    return fail(runtime::unknown_handle("blob", id));
  }
  Blob blob = std::move(found->second);
  blobs_.erase(found);
  blob_bytes_ -= blob.bytes;
  if (blob.data.size() != blob.bytes) {
    return fail(internal_error("a blob of " + std::to_string(blob.bytes) + " bytes has only " +
                               std::to_string(blob.data.size())));
  }
  if (!blob.hash) return std::move(blob.data);
  const Sha256Digest hash = sha256(blob.data);
  if (hash != *blob.hash) {
    Error error = protocol_error("what was sent is not what its hash says");
    error.expected = to_hex(*blob.hash);
    error.found = to_hex(hash);
    error.hint = "it was altered on the way; nothing of it is used or kept";
    return fail(std::move(error));
  }
  if (contents_) contents_->put(content_key(hash), blob.data);
  return std::move(blob.data);
}

Status ServerCore::check_code(uint64_t bytes) const noexcept {
  const uint64_t most = options_.limits.code_bytes;
  if (bytes <= most && code_bytes_ <= most - bytes) return {};
  return fail(platform_error(PlatformFault::kLimit,
                             "modules and executables of " + std::to_string(bytes) +
                                 " bytes; the session has " + std::to_string(code_bytes_) +
                                 " already and may have " + std::to_string(most),
                             "the server", "release what is not used any more"));
}

void ServerCore::count_code(std::unordered_map<uint64_t, uint64_t>& held, uint64_t id,
                            uint64_t bytes) noexcept {
  if (const auto found = held.find(id); found != held.end()) {
    code_bytes_ -= found->second;
    held.erase(found);
  }
  if (bytes == 0) return;
  held.emplace(id, bytes);
  code_bytes_ += bytes;
}

// Another token has other keys for the same content: it is not told what this one sent.
std::string ServerCore::content_key(const Sha256Digest& hash) const {
  Sha256 key;
  key.update(std::as_bytes(std::span(secret_)));
  key.update(std::as_bytes(std::span(hash)));
  return to_hex(key.digest());
}

std::optional<std::vector<std::byte>> ServerCore::find_content(const Sha256Digest& hash,
                                                               uint64_t bytes) noexcept {
  if (!contents_) return {};
  auto content = contents_->get(content_key(hash));
  if (!content || content->size() != bytes || sha256(*content) != hash) return {};
  return content;
}

Result<bool> ServerCore::handle(const wire::FindBlob& request) noexcept {
  const auto hash = digest_of(request.hash());
  if (!hash) return fail(internal_error("the hash of a blob is no SHA-256"));
  TAPML_TRY(awaited());
  auto content = find_content(*hash, static_cast<uint64_t>(request.bytes()));
  if (!content) return false;
  Status begun = begin_blob(request.id(), request.bytes(), {});
  if (!begun) {  // the answer says so: the name is free
    if (names(HandleKind::Blob).contains(request.id()) && !blobs_.contains(request.id())) {
      names(HandleKind::Blob).erase(request.id());
      --handles_;
    }
    return fail(std::move(begun).error());
  }
  blobs_[request.id()].data = std::move(*content);
  return true;
}

Result<bool> ServerCore::handle(const wire::WriteContent& request) noexcept {
  TAPML_TRY(known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(const runtime::BufferRange to,
               place_to(request.buffer(), request.offset(), request.bytes(), "write"));
  const auto hash = digest_of(request.hash());
  if (!hash) return fail(internal_error("the hash of a content is no SHA-256"));
  TAPML_TRY(awaited());
  if (request.bytes() > static_cast<int64_t>(kContentBytes)) return false;
  const auto content = find_content(*hash, static_cast<uint64_t>(request.bytes()));
  if (!content) return false;
  TAPML_TRY(session_->write(StreamId{request.stream()}, to, *content));
  return true;
}

Status ServerCore::handle(const wire::WriteBlob& request) noexcept {
  TAPML_ASSIGN(const std::vector<std::byte> bytes, take_blob(request.blob()));
  TAPML_TRY(known(HandleKind::Stream, request.stream()));
  TAPML_ASSIGN(
      const runtime::BufferRange to,
      place_to(request.buffer(), request.offset(), static_cast<int64_t>(bytes.size()), "write"));
  return session_->write(StreamId{request.stream()}, to, bytes);
}

}  // namespace tapml::rpc
