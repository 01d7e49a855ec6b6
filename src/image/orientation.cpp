#include "image/orientation.h"

#include <cstring>
#include <utility>

namespace tapml::image {

namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kUnsignedShort = 3;

// Integers at any place of data that may end anywhere.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> data)
      : data_(data), is_little_(!data.empty() && data[0] == std::byte{'I'}) {}

  // 0 behind the end.
  uint32_t integer(size_t at, size_t bytes) const {
    if (at > data_.size() || data_.size() - at < bytes) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      const size_t next = is_little_ ? bytes - 1 - i : i;
      value = (value << 8) | std::to_integer<uint32_t>(data_[at + next]);
    }
    return value;
  }

 private:
  std::span<const std::byte> data_;
  bool is_little_;
};

}  // namespace

int orientation_of(std::span<const std::byte> exif) {
  const Reader reader(exif);
  if (reader.integer(2, 2) != 42) return 1;
  const size_t directory = reader.integer(4, 4);
  const uint32_t entries = reader.integer(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    if (reader.integer(entry, 2) != kOrientationTag) continue;
    if (reader.integer(entry + 2, 2) != kUnsignedShort) return 1;
    const uint32_t value = reader.integer(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image turned(Image image, int orientation) {
  if (orientation == 1) return image;
  // 2: mirrored; 3: upside down; 4: both; the others have rows and columns exchanged before.
  const bool swaps = orientation >= 5;
  const bool flips_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 6;
  const bool flips_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Image upright =
      swaps ? Image::of_size(image.height, image.width) : Image::of_size(image.width, image.height);
  for (int64_t y = 0; y < upright.height; ++y) {
    for (int64_t x = 0; x < upright.width; ++x) {
      int64_t from_x = flips_x ? upright.width - 1 - x : x;
      int64_t from_y = flips_y ? upright.height - 1 - y : y;
      if (swaps) std::swap(from_x, from_y);
      std::memcpy(upright.pixel(x, y), image.pixel(from_x, from_y), 3);
    }
  }
  return upright;
}

}  // namespace tapml::image
