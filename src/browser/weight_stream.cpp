#include "browser/weight_stream.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/units.h"

namespace tapml::browser {

namespace {

constexpr const char* kSource = "weights.safetensors";
constexpr int64_t kMostUnsettled = int64_t{64} << 20;  // bytes that the device may not have yet
// WebAssembly's memory without what the program and the cache of a model need.
constexpr int64_t kMostInWasm = (int64_t{1} << 32) - (int64_t{128} << 20);

Error too_large(const std::string& what, int64_t bytes, const std::string& room, int64_t most,
                const std::string& device) {
  Error error = platform_error(
      PlatformFault::kLimit, "the model is too large for this browser: " + what, device,
      "take a smaller model or one with quantized weights: tapml compile MODEL --quantization "
      "q4f32 --package DIR");
  error.expected = "at most " + size_text(most) + " " + room;
  error.found = size_text(bytes) + " (" + std::to_string(bytes) + " bytes)";
  return error;
}

}  // namespace

Status WeightStream::check_room(std::span<const SafetensorsEntry> entries) const {
  const DeviceInfo& info = session_.info();
  int64_t total = 0;
  for (const SafetensorsEntry& entry : entries) {
    const int64_t bytes = entry.end - entry.begin;
    const int64_t most = info.limits.max_allocation_bytes;
    if (most > 0 && bytes > most) {
      return fail(too_large("weight " + entry.name, bytes, "for one buffer", most, info.name));
    }
    total += bytes;
  }
  if (info.platform == "wasm" && total > kMostInWasm) {
    return fail(too_large("its weights", total, "in WebAssembly's memory", kMostInWasm, info.name));
  }
  return {};
}

Status WeightStream::begin(std::span<const std::byte> header) {
  TAPML_ASSIGN(std::vector<SafetensorsEntry> entries,
               parse_safetensors_header(header, file_bytes_, kSource));
  const std::set<std::string> wanted(wanted_.begin(), wanted_.end());
  std::erase_if(entries,
                [&](const SafetensorsEntry& entry) { return !wanted.contains(entry.name); });
  for (const std::string& name : wanted) {
    if (std::ranges::find(entries, name, &SafetensorsEntry::name) != entries.end()) continue;
    return fail(user_error("weight " + name + " is missing", kSource,
                           std::to_string(wanted.size()) + " weights",
                           std::to_string(entries.size()) + ", without this one"));
  }
  TAPML_TRY(check_room(entries));
  for (const SafetensorsEntry& entry : entries) {
    TAPML_ASSIGN(runtime::Tensor tensor, runtime::make_tensor(session_, entry.dtype, entry.shape));
    targets_.push_back({entry.begin, entry.end, tensor});
    tensors_.emplace(entry.name, std::move(tensor));
  }
  return {};
}

Status WeightStream::add(std::span<const std::byte> bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  if (count > file_bytes_ - reached_) {
    return fail(user_error("the file is longer than the package lists", kSource,
                           std::to_string(file_bytes_) + " bytes",
                           "at least " + std::to_string(reached_ + count)));
  }
  checksum_.add(bytes);
  const int64_t end = reached_ + count;
  for (; next_ < targets_.size() && targets_[next_].begin < end; ++next_) {
    Target& target = targets_[next_];
    const int64_t from = std::max(target.begin, reached_), to = std::min(target.end, end);
    if (to > from) {
      TAPML_TRY(session_.write(
          runtime::kDefaultStream, {target.tensor.storage->buffer(), from - target.begin},
          bytes.subspan(static_cast<size_t>(from - reached_), static_cast<size_t>(to - from))));
    }
    if (target.end > end) break;
    target.tensor.storage->written();
  }
  reached_ = end;
  unsettled_ += count;
  if (unsettled_ < kMostUnsettled) return {};
  unsettled_ = 0;
  return session_.synchronize(runtime::kDefaultStream);
}

Result<std::map<std::string, runtime::Tensor>> WeightStream::finish(uint64_t checksum) {
  if (reached_ < file_bytes_) {
    return fail(user_error("the download of the weights is incomplete", kSource,
                           std::to_string(file_bytes_) + " bytes",
                           std::to_string(reached_) + " bytes", "load the model again"));
  }
  if (checksum_.value() != checksum) {
    return fail(user_error("the download of the weights is corrupted", kSource,
                           "checksum " + hash_hex(checksum),
                           "checksum " + hash_hex(checksum_.value()), "load the model again"));
  }
  TAPML_TRY(session_.synchronize(runtime::kDefaultStream));
  return std::move(tensors_);
}

}  // namespace tapml::browser
