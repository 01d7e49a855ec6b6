// Uploads blobs and contents, except those that the other side already has.
#include <algorithm>
#include <deque>

#include "rpc/session/client_session.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

using runtime::BufferRange;
using runtime::ContentWrite;
using runtime::raw_handle;
using runtime::StreamId;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

auto put_digest(Builder& builder, const Sha256Digest& digest) {
  return builder.CreateVector(digest.data(), digest.size());
}

// A piece of a content, and the request that asks whether the server has it.
struct Piece {
  BufferRange to;
  std::span<const std::byte> bytes;
  Sha256Digest hash{};
  ClientLink::Reply reply;
};

}  // namespace

RemoteSession::Traffic ClientSession::traffic() const noexcept {
  Traffic traffic = link_->traffic();
  traffic.bytes_found = bytes_found_.load();
  return traffic;
}

// The progress of one upload.
struct ClientSession::Sent {
  const ClientSession& session;
  int64_t total = 0;
  int64_t done = 0;
  void tell() const { session.tell_bytes("send", done, total); }
  ~Sent() { session.tell_bytes("send", total, total); }
};

Status ClientSession::send_parts(uint64_t blob, std::span<const std::byte> bytes,
                                 const Sha256Digest* hash, Sent& progress,
                                 const runtime::Deadline& deadline) noexcept {
  TAPML_TRY(link_->post([&](Builder& builder) {
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> digest;
    if (hash) digest = put_digest(builder, *hash);
    return wire::CreateBeginBlob(builder, blob, static_cast<int64_t>(bytes.size()), digest);
  }));
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), peer_.part_bytes));
    progress.tell();
    Status sent = link_->post_bytes(
        [&](Builder& builder, uint64_t unpacked) {
          return wire::CreateBlobPart(builder, blob, unpacked);
        },
        part, deadline);
    if (!sent) {
      forget(wire::HandleKind::Blob, blob);
      return sent;
    }
    bytes = bytes.subspan(part.size());
    progress.done += std::ssize(part);
  }
  return {};
}

Result<uint64_t> ClientSession::send_blob(std::span<const std::byte> bytes,
                                          const runtime::Deadline& deadline) noexcept {
  if (bytes.size() > peer_.module_bytes) {
    return fail(platform_error(PlatformFault::kLimit, "a module of " +
                                                          std::to_string(bytes.size()) +
                                                          " bytes; the other side takes up to " +
                                                          std::to_string(peer_.module_bytes)));
  }
  const uint64_t blob = new_handle();
  Sent progress{*this, std::ssize(bytes)};
  if (!keeps_contents() || bytes.size() < kSmallContent) {
    TAPML_TRY(send_parts(blob, bytes, nullptr, progress, deadline));
    return blob;
  }
  const Sha256Digest hash = sha256(bytes);
  ClientLink::Reply reply;
  Status found = link_->call(
      [&](Builder& builder) {
        const auto digest = put_digest(builder, hash);
        return wire::CreateFindBlob(builder, blob, digest, static_cast<int64_t>(bytes.size()));
      },
      reply, deadline);
  if (!found) {
    if (!reply.answered()) forget(wire::HandleKind::Blob, blob);
    return fail(std::move(found).error());
  }
  if (reply.answer<wire::Missing>()) {
    TAPML_TRY(send_parts(blob, bytes, &hash, progress, deadline));
  } else {
    bytes_found_ += static_cast<int64_t>(bytes.size());
  }
  return blob;
}

// Asks for all pieces first, and hashes one piece while the other side looks up those before it.
Status ClientSession::write_contents(StreamId stream, std::span<const ContentWrite> contents,
                                     runtime::Deadline deadline) noexcept {
  if (!keeps_contents()) return Session::write_contents(stream, contents, deadline);
  const size_t most = std::min<uint64_t>(kContentBytes, peer_.module_bytes);
  std::deque<Piece> pieces;
  Status status;
  Sent progress{*this};
  for (const ContentWrite& content : contents) progress.total += std::ssize(content.bytes);
  for (const ContentWrite& content : contents) {
    BufferRange to = content.to;
    std::span<const std::byte> rest = content.bytes;
    status = check(stream, to, static_cast<int64_t>(rest.size()), "write");
    while (status && rest.size() >= kSmallContent && most >= kSmallContent) {
      Piece& piece = pieces.emplace_back();
      piece.to = to;
      piece.bytes = rest.first(std::min(rest.size(), most));
      piece.hash = sha256(piece.bytes);
      status = link_->post(
          [&](Builder& builder) {
            const auto digest = put_digest(builder, piece.hash);
            return wire::CreateWriteContent(builder, raw_handle(stream), raw_handle(to.buffer),
                                            to.offset, digest,
                                            static_cast<int64_t>(piece.bytes.size()));
          },
          &piece.reply, {}, link_->limit(deadline));
      to.offset += static_cast<int64_t>(piece.bytes.size());
      rest = rest.subspan(piece.bytes.size());
    }
    if (status) status = write(stream, to, rest);
    if (!status) break;
    progress.done += std::ssize(rest);
    progress.tell();
  }
  for (Piece& piece : pieces) {
    // The pending replies must not outlive this stack frame.
    if (!status) {
      link_->abandon(piece.reply);
      continue;
    }
    status = link_->wait(piece.reply, link_->limit(deadline));
    if (!status) continue;
    if (!piece.reply.answer<wire::Missing>()) {
      bytes_found_ += static_cast<int64_t>(piece.bytes.size());
      progress.done += std::ssize(piece.bytes);
      progress.tell();
      continue;
    }
    const uint64_t blob = new_handle();
    status = send_parts(blob, piece.bytes, &piece.hash, progress, deadline);
    if (!status) continue;
    status = link_->post([&](Builder& builder) {
      return wire::CreateWriteBlob(builder, raw_handle(stream), raw_handle(piece.to.buffer),
                                   piece.to.offset, blob);
    });
  }
  return status;
}

}  // namespace tapml::rpc
