#include "rpc/session/wire.h"

#include <algorithm>
#include <vector>

#include "base/printable.h"
#include "rpc/session/server_session.h"

namespace tapml::rpc {

namespace {

// Dtypes as the bytes of a vector.
std::vector<uint8_t> dtype_bytes_of(const std::set<DType>& dtypes) {
  std::vector<uint8_t> bytes;
  for (DType dtype : dtypes) bytes.push_back(static_cast<uint8_t>(dtype));
  return bytes;
}

// Those that this program knows.
std::set<DType> dtypes_of(const flatbuffers::Vector<uint8_t>* bytes) {
  std::set<DType> dtypes;
  for (flatbuffers::uoffset_t i = 0; bytes && i < bytes->size(); ++i) {
    const uint8_t byte = bytes->Get(i);
    if (byte <= static_cast<uint8_t>(DType::kF64)) dtypes.insert(static_cast<DType>(byte));
  }
  return dtypes;
}

}  // namespace

std::optional<Sha256Digest> digest_of(const std::string& hex) {
  Sha256Digest digest;
  if (hex.size() != 2 * digest.size()) return {};
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = value(hex[2 * i]), low = value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return {};
    digest[i] = static_cast<uint8_t>(16 * high + low);
  }
  return digest;
}

std::string text_of(const flatbuffers::String* text) {
  return text ? std::string(text->data(), text->size()) : std::string();
}

std::string shown_text(const flatbuffers::String* text) {
  return text ? printable(std::string_view(text->data(), text->size())) : std::string();
}

std::string text_of(const flatbuffers::String* text, CopyBudget& copies) {
  return text && copies.take(text->size()) ? text_of(text) : std::string();
}

flatbuffers::Offset<wire::Failure> put_error(flatbuffers::FlatBufferBuilder& builder,
                                             const Error& error, bool fatal,
                                             const std::vector<std::string>& log) {
  std::vector<flatbuffers::Offset<flatbuffers::String>> lines;
  for (const std::string& line : log) lines.push_back(builder.CreateString(line));
  return wire::CreateFailureDirect(builder, static_cast<uint8_t>(error.kind),
                                   static_cast<uint8_t>(error.fault), error.message.c_str(),
                                   error.where.c_str(), error.expected.c_str(), error.found.c_str(),
                                   error.hint.c_str(), fatal, lines.empty() ? nullptr : &lines);
}

Result<Error> get_error(const wire::Failure& failure, CopyBudget& copies) {
  Error error;
  if (failure.kind() <= static_cast<uint8_t>(ErrorKind::kInternal)) {
    error.kind = static_cast<ErrorKind>(failure.kind());
  }
  const uint8_t fault = failure.fault();
  if (error.kind == ErrorKind::kPlatform) {
    const bool known = fault != 0 && fault <= static_cast<uint8_t>(kLastFault);
    error.fault = known ? static_cast<PlatformFault>(fault) : PlatformFault::kProtocol;
  } else if (static_cast<PlatformFault>(fault) == (error.kind == ErrorKind::kUser
                                                       ? PlatformFault::kUnauthorized
                                                       : PlatformFault::kCompile)) {
    error.fault = static_cast<PlatformFault>(fault);
  }
  error.message = printable(text_of(failure.message(), copies));
  error.where = printable(text_of(failure.where(), copies));
  error.expected = printable(text_of(failure.expected(), copies));
  error.found = printable(text_of(failure.found(), copies));
  error.hint = printable(text_of(failure.hint(), copies));
  if (failure.log() && failure.log()->size() > 0) {
    error.where +=
        std::string(error.where.empty() ? "" : "\n") + "the last lines of the server's log:";
    for (const auto* line : *failure.log()) {
      const std::string text = printable_line(text_of(line, copies));
      if (copies.overdrawn()) break;
      error.where += "\n  " + text;
    }
  }
  if (copies.overdrawn()) return fail(shared_parts_error());
  return error;
}

flatbuffers::Offset<wire::Device> put_device(flatbuffers::FlatBufferBuilder& builder,
                                             const DeviceInfo& info) {
  const std::vector<uint8_t> storage = dtype_bytes_of(info.features.storage_dtypes);
  const std::vector<uint8_t> compute = dtype_bytes_of(info.features.compute_dtypes);
  const Limits& limits = info.limits;
  return wire::CreateDeviceDirect(
      builder, info.platform.c_str(), info.name.c_str(), info.version.c_str(),
      limits.max_workgroup_threads, limits.max_local_memory, limits.max_binding_bytes,
      limits.max_allocation_bytes, limits.max_bindings, limits.buffer_alignment, limits.threads,
      &storage, &compute, info.features.narrow_stores, info.features.local_memory,
      info.features.subgroups, info.cpu.c_str(), info.cpu_features.c_str(), limits.subgroup_width,
      static_cast<uint8_t>(info.kind));
}

DeviceInfo get_device(const wire::Device& device) {
  DeviceInfo info;
  info.platform = shown_text(device.platform());
  info.name = shown_text(device.name());
  info.version = shown_text(device.version());
  info.cpu = shown_text(device.cpu());
  info.cpu_features = shown_text(device.cpu_features());
  Limits& limits = info.limits;
  limits.max_workgroup_threads = device.max_workgroup_threads();
  limits.max_local_memory = device.max_local_memory();
  limits.max_binding_bytes = device.max_binding_bytes();
  limits.max_allocation_bytes = device.max_allocation_bytes();
  limits.max_bindings = device.max_bindings();
  limits.buffer_alignment = std::max<int64_t>(1, device.buffer_alignment());
  limits.threads = device.threads();
  limits.subgroup_width = device.subgroup_width();
  if (device.kind() <= static_cast<uint8_t>(DeviceKind::kGpu)) {
    info.kind = static_cast<DeviceKind>(device.kind());
  }
  info.features.storage_dtypes = dtypes_of(device.storage_dtypes());
  info.features.compute_dtypes = dtypes_of(device.compute_dtypes());
  info.features.narrow_stores = device.narrow_stores();
  info.features.local_memory = device.local_memory();
  info.features.subgroups = device.subgroups();
  return info;
}

std::vector<std::byte> encode_heartbeat(uint64_t request, int64_t done, int64_t total) noexcept {
  flatbuffers::FlatBufferBuilder builder;
  const auto head = finish_reply(builder, 0, request, wire::CreateHeartbeat(builder, done, total));
  return {head.begin(), head.end()};
}

std::vector<std::byte> encode_failure(const Error& error,
                                      const std::vector<std::string>& log) noexcept {
  flatbuffers::FlatBufferBuilder builder;
  const auto head = finish_reply(builder, 0, 0, put_error(builder, error, true, log));
  return {head.begin(), head.end()};
}

}  // namespace tapml::rpc
