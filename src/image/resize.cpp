#include "image/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapml::image {

namespace {

// Bits of a weight behind the point: with 8 of a pixel and 2 for sums outside of a pixel's range,
// 32.
constexpr int kBits = 32 - 8 - 2;

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

// Half of the filter's width, in pixels of an image that is not reduced.
double support(Filter filter) {
  switch (filter) {
    case Filter::kBox:
      return 0.5;
    case Filter::kBilinear:
    case Filter::kHamming:
      return 1;
    case Filter::kBicubic:
      return 2;
    case Filter::kLanczos:
      return 3;
  }
  return 0;
}

double weight(Filter filter, double x) {
  const double size = std::abs(x);
  switch (filter) {
    case Filter::kBox:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Filter::kBilinear:
      return size < 1 ? 1 - size : 0;
    case Filter::kHamming:
      if (size >= 1) return 0;
      return sinc(size) * (0.54 + 0.46 * std::cos(std::numbers::pi * size));
    case Filter::kBicubic: {
      constexpr double a = -0.5;  // Keys 1981, the interpolation of third order
      if (size < 1) return ((a + 2) * size - (a + 3)) * size * size + 1;
      return size < 2 ? (((size - 5) * size + 8) * size - 4) * a : 0;
    }
    case Filter::kLanczos:
      return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
  return 0;
}

// The pixels of a row that a pixel of the resized row is made of.
struct Window {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Window> windows(int64_t from, int64_t to, Filter filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(scale, 1.0), reach = support(filter) * width;
  std::vector<Window> all;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    Window window;
    window.first = std::max<int64_t>(static_cast<int64_t>(std::floor(center - reach + 0.5)), 0);
    const int64_t end =
        std::min<int64_t>(static_cast<int64_t>(std::floor(center + reach + 0.5)), from);
    std::vector<double> exact;
    double sum = 0;
    for (int64_t x = window.first; x < end; ++x) {
      exact.push_back(weight(filter, (static_cast<double>(x) - center + 0.5) / width));
      sum += exact.back();
    }
    for (const double one : exact) {
      const double scaled = (sum == 0 ? one : one / sum) * (1 << kBits);
      window.weights.push_back(static_cast<int32_t>(scaled + (scaled < 0 ? -0.5 : 0.5)));
    }
    all.push_back(std::move(window));
  }
  return all;
}

uint8_t rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// A pixel from those at `from`, `stride` bytes apart.
void mix(const Window& window, const uint8_t* from, int64_t stride, uint8_t* to) {
  int32_t sums[3] = {1 << (kBits - 1), 1 << (kBits - 1), 1 << (kBits - 1)};
  for (const int32_t one : window.weights) {
    for (int c = 0; c < 3; ++c) sums[c] += one * from[c];
    from += stride;
  }
  for (int c = 0; c < 3; ++c) to[c] = rounded(sums[c]);
}

Image with_width(const Image& image, int64_t width, Filter filter) {
  Image result = Image::of_size(width, image.height);
  const std::vector<Window> all = windows(image.width, width, filter);
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const Window& window = all[static_cast<size_t>(x)];
      mix(window, image.pixel(window.first, y), 3, result.pixel(x, y));
    }
  }
  return result;
}

Image with_height(const Image& image, int64_t height, Filter filter) {
  Image result = Image::of_size(image.width, height);
  const std::vector<Window> all = windows(image.height, height, filter);
  for (int64_t y = 0; y < height; ++y) {
    const Window& window = all[static_cast<size_t>(y)];
    for (int64_t x = 0; x < image.width; ++x) {
      mix(window, image.pixel(x, window.first), 3 * image.width, result.pixel(x, y));
    }
  }
  return result;
}

// The order matters for the rounding in between. This is Pillow 13's; earlier versions always began
// with the width.
bool resizes_height_first(const Image& image, int64_t width, int64_t height) {
  return height < image.height && image.height - height > 2 * (image.width - width);
}

}  // namespace

Image resized(const Image& image, int64_t width, int64_t height, Filter filter) {
  if (resizes_height_first(image, width, height)) {
    const Image high = with_height(image, height, filter);
    return width == high.width ? high : with_width(high, width, filter);
  }
  const Image wide = width == image.width ? image : with_width(image, width, filter);
  return height == wide.height ? wide : with_height(wide, height, filter);
}

}  // namespace tapml::image
