// Messages of protocol.fbs: checked when they come in, and the parts that both ends share.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/device_info.h"
#include "base/hash.h"
#include "base/result.h"
#include "rpc/session/copy_budget.h"
#include "rpc/session/protocol_generated.h"

namespace tapml::rpc {

// Versions of the protocol that this program speaks.
inline constexpr uint16_t kOldestVersion = 1;
inline constexpr uint16_t kNewestVersion = 1;

// Optional parts of the protocol, one bit each; those that both ends have are used.
inline constexpr uint64_t kCapabilityVm = 1;         // OpenVm and Call
inline constexpr uint64_t kCapabilityContent = 2;    // FindBlob, WriteContent, WriteBlob
inline constexpr uint64_t kCapabilityZstd = 4;       // packed payloads
inline constexpr uint64_t kCapabilityTrace = 8;      // Ping, StartTrace, ReadTrace
inline constexpr uint64_t kCapabilityCapture = 16;   // Call::capture
inline constexpr uint64_t kCapabilityDispatch = 32;  // Call::dispatch
inline constexpr uint64_t kCapabilityTiming = 64;    // Call::timed
// 128 was recall of one argument a value.
inline constexpr uint64_t kCapabilityRecall = 256;  // values that are Cached or Argument

// Payload of one frame that a part of something larger has.
inline constexpr size_t kPartBytes = size_t{2} << 20;

// Weights that are addressed by their hash come in pieces of at most so many bytes; what is smaller
// than the other is not worth the question.
inline constexpr size_t kContentBytes = size_t{32} << 20;
inline constexpr size_t kSmallContent = size_t{4} << 10;

// Handles from here on are the server's own.
inline constexpr uint64_t kServerHandles = uint64_t{1} << 63;

// Names that one release, or one call for its results, may have.
inline constexpr uint32_t kMostNames = 1 << 16;

// What a message may hold before it is looked at.
inline constexpr uint32_t kMaxDepth = 64;
inline constexpr uint32_t kMaxTables = 1 << 18;

inline Error protocol_error(std::string message, std::string where = "") {
  return platform_error(PlatformFault::kProtocol, std::move(message), std::move(where));
}

inline Error lost_error(std::string message) {
  return platform_error(PlatformFault::kLost, std::move(message));
}

// The message in the bytes, which must outlive it; null where they are none.
template <class Message>
const Message* verified(std::span<const std::byte> head) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(head.data());
  flatbuffers::Verifier::Options options;
  options.max_depth = kMaxDepth;
  options.max_tables = kMaxTables;
  flatbuffers::Verifier verifier(bytes, head.size(), options);
  if (!verifier.VerifyBuffer<Message>(nullptr)) return nullptr;
  return flatbuffers::GetRoot<Message>(bytes);
}

inline std::span<const std::byte> bytes_of(const flatbuffers::FlatBufferBuilder& builder) {
  return {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()};
}

// Nothing where the bytes are no digest.
inline std::optional<Sha256Digest> digest_of(const flatbuffers::Vector<uint8_t>* bytes) {
  Sha256Digest digest;
  if (!bytes || bytes->size() != digest.size()) return {};
  std::copy(bytes->begin(), bytes->end(), digest.begin());
  return digest;
}

// The same of 64 hexadecimal digits.
std::optional<Sha256Digest> digest_of(const std::string& hex);

// Calls take(hexadecimal digits) for each digest in a row.
template <class Take>
void for_each_hash(const flatbuffers::Vector<uint8_t>* bytes, Take&& take) {
  constexpr size_t kSize = std::tuple_size_v<Sha256Digest>;
  for (size_t at = 0; bytes && at + kSize <= bytes->size(); at += kSize) {
    take(to_hex({bytes->data() + at, kSize}));
  }
}

// Bits of a parameter of a captured call.
inline constexpr uint8_t kParamNamed = 1, kParamNaN = 2;

// Of a message whose CopyBudget is overdrawn.
inline Error shared_parts_error() {
  return protocol_error("a message whose parts share their bytes, so that it would grow");
}

// Empty for a text that is not there.
std::string text_of(const flatbuffers::String* text);
// The same of a text that people will read, perhaps on a terminal (base/printable.h).
std::string shown_text(const flatbuffers::String* text);
// Empty too where the budget is overdrawn.
std::string text_of(const flatbuffers::String* text, CopyBudget& copies);

flatbuffers::Offset<wire::Failure> put_error(flatbuffers::FlatBufferBuilder& builder,
                                             const Error& error, bool fatal = false,
                                             const std::vector<std::string>& log = {});
// The lines of its log stand under where it happened. kProtocol where the budget is overdrawn.
Result<Error> get_error(const wire::Failure& failure, CopyBudget& copies);

flatbuffers::Offset<wire::Device> put_device(flatbuffers::FlatBufferBuilder& builder,
                                             const DeviceInfo& info);
DeviceInfo get_device(const wire::Device& device);

// The whole head of a reply.
template <class T>
std::span<const std::byte> finish_reply(flatbuffers::FlatBufferBuilder& builder, uint64_t sequence,
                                        uint64_t request, flatbuffers::Offset<T> answer) {
  builder.Finish(wire::CreateReply(builder, sequence, request, wire::AnswerTraits<T>::enum_value,
                                   answer.Union()));
  return bytes_of(builder);
}

}  // namespace tapml::rpc
