// Pictures in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapml::image {

// Rows from top to bottom, pixels from left to right, each with red, green and blue.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;  // height * width * 3

  static Image of_size(int64_t width, int64_t height) {
    return {width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height))};
  }
  uint8_t* pixel(int64_t x, int64_t y) { return rgb.data() + 3 * (y * width + x); }
  const uint8_t* pixel(int64_t x, int64_t y) const { return rgb.data() + 3 * (y * width + x); }
};

// Of an image, read or resized: 192 MiB of RGB. A file of a few kilobytes can claim any size.
inline constexpr int64_t kMostPixels = int64_t{1} << 26;

}  // namespace tapml::image
