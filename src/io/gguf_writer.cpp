#include "io/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <ranges>

#include "base/rounding.h"

namespace tapml {

namespace {

constexpr size_t kTensorAlignment = 32;  // what a file has that does not say otherwise
constexpr uint32_t kWrittenVersion = 3;

// The numbers that the format gives to types of values.
constexpr uint32_t kU32 = 4, kI32 = 5, kF32 = 6, kTruth = 7, kText = 8, kArray = 9, kI64 = 11;

class HeaderWriter {
 public:
  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      bytes_.push_back(static_cast<std::byte>((value >> (8 * i)) & 255));
    }
  }
  void raw(std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), first, first + text.size());
  }
  void text(std::string_view value) {
    number(value.size(), 8);
    raw(value);
  }
  void real(double value) { number(std::bit_cast<uint32_t>(static_cast<float>(value)), 4); }

  void value(const GgufValue& value) {
    std::visit([&](const auto& one) { put(one); }, value);
  }

  std::vector<std::byte> finish() {
    bytes_.resize(round_up(bytes_.size(), kTensorAlignment));
    return std::move(bytes_);
  }

 private:
  void put(bool value) {
    number(kTruth, 4);
    number(value ? 1 : 0, 1);
  }
  void put(int64_t value) {
    if (value >= 0 && value <= std::numeric_limits<uint32_t>::max()) {
      number(kU32, 4);
      number(static_cast<uint64_t>(value), 4);
    } else {
      number(kI64, 4);
      number(static_cast<uint64_t>(value), 8);
    }
  }
  void put(double value) {
    number(kF32, 4);
    real(value);
  }
  void put(std::string_view value) {
    number(kText, 4);
    text(value);
  }
  void put(const std::vector<bool>& values) {
    array(kTruth, values.size());
    for (const bool one : values) number(one ? 1 : 0, 1);
  }
  void put(const std::vector<int64_t>& values) {
    const bool fits = std::ranges::all_of(values, [](int64_t one) {
      return one >= std::numeric_limits<int32_t>::min() &&
             one <= std::numeric_limits<int32_t>::max();
    });
    array(fits ? kI32 : kI64, values.size());
    for (const int64_t one : values) number(static_cast<uint64_t>(one), fits ? 4 : 8);
  }
  void put(const std::vector<double>& values) {
    array(kF32, values.size());
    for (const double one : values) real(one);
  }
  void put(const std::vector<std::string_view>& values) {
    array(kText, values.size());
    for (const std::string_view one : values) text(one);
  }
  void array(uint32_t type, size_t count) {
    number(kArray, 4);
    number(type, 4);
    number(count, 8);
  }

  std::vector<std::byte> bytes_;
};

}  // namespace

void GgufMetadata::add(std::string_view key, GgufValue value) {
  values_.emplace_back(std::string(key), std::move(value));
}

void GgufMetadata::add_text(std::string_view key, std::string value) {
  add(key, std::string_view(texts_.emplace_back(std::move(value))));
}

void GgufMetadata::add_texts(std::string_view key, std::vector<std::string> values) {
  std::vector<std::string_view> views;
  views.reserve(values.size());
  for (std::string& value : values) views.push_back(texts_.emplace_back(std::move(value)));
  add(key, std::move(views));
}

size_t gguf_bytes(const GgufType& type, const Shape& shape) {
  return static_cast<size_t>(element_count(shape) / type.elements) * type.block_bytes;
}

size_t gguf_padded_bytes(size_t bytes) { return round_up(bytes, kTensorAlignment); }

std::vector<std::byte> write_gguf_header(const GgufMetadata& metadata,
                                         const std::vector<GgufTensorInfo>& tensors) {
  HeaderWriter header;
  header.raw("GGUF");
  header.number(kWrittenVersion, 4);
  header.number(tensors.size(), 8);
  header.number(metadata.values().size(), 8);
  for (const auto& [key, value] : metadata.values()) {
    header.text(key);
    header.value(value);
  }
  size_t offset = 0;
  for (const GgufTensorInfo& tensor : tensors) {
    header.text(tensor.name);
    header.number(tensor.shape.size(), 4);
    for (const int64_t extent : tensor.shape | std::views::reverse) {
      header.number(static_cast<uint64_t>(extent), 8);
    }
    header.number(tensor.type->id, 4);
    header.number(offset, 8);
    offset += gguf_padded_bytes(gguf_bytes(*tensor.type, tensor.shape));
  }
  return header.finish();
}

}  // namespace tapml
