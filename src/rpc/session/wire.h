// Messages of protocol.fbs: checks of incoming ones, and what both ends share.
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

// Optional parts of the protocol, one bit each; a session uses those that both ends have.
inline constexpr uint64_t kCapabilityVm = 1;         // OpenVm and Call
inline constexpr uint64_t kCapabilityContent = 2;    // FindBlob, WriteContent, WriteBlob
inline constexpr uint64_t kCapabilityZstd = 4;       // packed payloads
inline constexpr uint64_t kCapabilityTrace = 8;      // Ping, StartTrace, ReadTrace
inline constexpr uint64_t kCapabilityCapture = 16;   // Call::capture
inline constexpr uint64_t kCapabilityDispatch = 32;  // Call::dispatch
inline constexpr uint64_t kCapabilityTiming = 64;    // Call::timed
// 128 is reserved: an older form of recall.
inline constexpr uint64_t kCapabilityRecall = 256;  // values that are Cached or Argument

// Largest part of a payload that is sent in several frames.
inline constexpr size_t kPartBytes = size_t{2} << 20;

// Weights addressed by their hash are sent in pieces of at most kContentBytes; pieces smaller than
// kSmallContent are sent without asking.
inline constexpr size_t kContentBytes = size_t{32} << 20;
inline constexpr size_t kSmallContent = size_t{4} << 10;

// Handles from here on belong to the server.
inline constexpr uint64_t kServerHandles = uint64_t{1} << 63;

// Limit on the names in one release, or for the results of one call.
inline constexpr uint32_t kMostNames = 1 << 16;

// Limits of a message, checked before it is read.
inline constexpr uint32_t kMaxDepth = 64;
inline constexpr uint32_t kMaxTables = 1 << 18;

inline Error protocol_error(std::string message, std::string where = "") {
  return platform_error(PlatformFault::kProtocol, std::move(message), std::move(where));
}

inline Error lost_error(std::string message) {
  return platform_error(PlatformFault::kLost, std::move(message));
}

// The message in the bytes, which must outlive it; null if they hold none.
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

// Nothing if the bytes are no digest.
inline std::optional<Sha256Digest> digest_of(const flatbuffers::Vector<uint8_t>* bytes) {
  Sha256Digest digest;
  if (!bytes || bytes->size() != digest.size()) return {};
  std::copy(bytes->begin(), bytes->end(), digest.begin());
  return digest;
}

// The same for 64 hexadecimal digits.
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

// For a message that overdraws its CopyBudget.
inline Error shared_parts_error() {
  return protocol_error("a message has parts that share their bytes");
}

// 0 for a missing list.
template <class Element>
size_t size_of(const flatbuffers::Vector<Element>* list) {
  return list ? list->size() : 0;
}

// Empty for a missing text.
std::string text_of(const flatbuffers::String* text);
// The same for a text that people read, perhaps on a terminal (base/printable.h).
std::string shown_text(const flatbuffers::String* text);
// Also empty if the budget is overdrawn.
std::string text_of(const flatbuffers::String* text, CopyBudget& copies);

flatbuffers::Offset<wire::Failure> put_error(flatbuffers::FlatBufferBuilder& builder,
                                             const Error& error, bool fatal = false,
                                             const std::vector<std::string>& log = {});
// The log follows the error's location. kProtocol if the budget is overdrawn.
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
