// The safetensors reader. Inputs are file images; the mutator keeps the length before the header
// right most of the time, so that headers are parsed. Accepted files are written and read back with
// the same bytes.
#include "io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "finding.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr size_t kLengthBytes = 8;

size_t header_length(const uint8_t* data, size_t size) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= uint64_t{data[i]} << (8 * i);
  return static_cast<size_t>(std::min<uint64_t>(length, size - kLengthBytes));
}

SafetensorsFile read(const std::vector<std::byte>& image, bool& accepted) {
  Result<SafetensorsFile> file = parse_safetensors(image, nullptr, "input");
  accepted = file.has_value();
  if (file) return std::move(*file);
  require_user_error(file.error());
  return {};
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (size <= kLengthBytes || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t header = header_length(data, size);
  const std::vector<uint8_t> tail(data + kLengthBytes + header, data + size);
  uint8_t* begin = data + kLengthBytes;
  const size_t room = max_size - kLengthBytes - std::min(tail.size(), max_size - kLengthBytes);
  const size_t grown = room == 0 ? header : LLVMFuzzerMutate(begin, header, room);
  for (size_t i = 0; i < kLengthBytes; ++i) data[i] = static_cast<uint8_t>(grown >> (8 * i));
  const size_t kept = std::min(tail.size(), max_size - kLengthBytes - grown);
  if (kept > 0) std::memcpy(begin + grown, tail.data(), kept);
  return kLengthBytes + grown + kept;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  bool accepted = false;
  const std::vector<std::byte> image(bytes, bytes + size);
  const auto lenient = parse_safetensors(image, nullptr, "input", {.keep_unknown_dtypes = true});
  if (!lenient) require_user_error(lenient.error());
  const SafetensorsFile file = read(image, accepted);
  require(!accepted || lenient->unknown_dtypes.empty(), "a known dtype is unknown");
  if (!accepted) return 0;
  const std::vector<std::byte> written = write_safetensors(file.tensors, file.metadata);
  const SafetensorsFile again = read(written, accepted);
  require(accepted, "what was written is refused");
  require(again.metadata == file.metadata, "the metadata changed");
  require(again.tensors.size() == file.tensors.size(), "the number of tensors changed");
  for (const auto& [name, tensor] : file.tensors) {
    auto it = again.tensors.find(name);
    require(it != again.tensors.end(), "a tensor is lost");
    require(it->second.dtype() == tensor.dtype() && it->second.shape() == tensor.shape() &&
                std::ranges::equal(it->second.bytes(), tensor.bytes()),
            "a tensor changed");
    for (int64_t i = 0; i < std::min<int64_t>(tensor.size(), 64); ++i) tensor.at_f64(i);
  }
  return 0;
}
