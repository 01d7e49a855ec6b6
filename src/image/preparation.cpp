#include "image/preparation.h"

#include <algorithm>
#include <cstring>

#include "base/rounding.h"
#include "image/decode.h"

namespace tapml::image {

namespace {

using Resize = Preparation::Resize;

struct Size {
  int64_t width = 0, height = 0;
};

// The proportions as the published processors compute them: a width of this height, or a height of
// this width, in whole pixels.
int64_t width_of(int64_t height, double proportion) {
  return static_cast<int64_t>(static_cast<double>(height) * proportion);
}
int64_t height_of(int64_t width, double proportion) {
  return static_cast<int64_t>(static_cast<double>(width) / proportion);
}
double proportion_of(const Size& size) {
  return static_cast<double>(size.width) / static_cast<double>(size.height);
}

Size with_longest_edge(const Image& image, int64_t edge) {
  constexpr int64_t kMost = 4096;  // whatever the configuration says
  Size size = {image.width, image.height};
  for (const bool first : {true, false}) {
    const int64_t longest = first ? edge : kMost;
    if (!first && std::max(size.width, size.height) <= kMost) break;
    const double proportion = proportion_of(size);
    const bool is_wide = size.width >= size.height;
    int64_t other = is_wide ? height_of(longest, proportion) : width_of(longest, proportion);
    if (first) other += other % 2;
    other = std::max<int64_t>(other, 1);
    size = is_wide ? Size{longest, other} : Size{other, longest};
  }
  return size;
}

// The next multiples of the tile's side: of the longer edge, and of the other in proportion to it.
Size in_whole_tiles(const Image& image, int64_t side) {
  const auto multiple = [&](int64_t pixels) { return round_up(pixels, side); };
  const double proportion = proportion_of({image.width, image.height});
  if (image.width >= image.height) {
    const int64_t width = multiple(image.width);
    return {width, multiple(height_of(width, proportion))};
  }
  const int64_t height = multiple(image.height);
  return {multiple(width_of(height, proportion)), height};
}

// The longer edge is cut to a whole number.
Size size_after(const Image& image, const Preparation& p) {
  if (p.resize == Resize::kExact) return {p.width, p.height};
  if (p.resize == Resize::kLongestEdge) return with_longest_edge(image, p.edge);
  const auto other = [&](int64_t length, int64_t shorter) {
    return static_cast<int64_t>(static_cast<double>(p.edge * length) /
                                static_cast<double>(shorter));
  };
  if (image.width <= image.height) return {p.edge, other(image.height, image.width)};
  return {other(image.width, image.height), p.edge};
}

// Copies the image to a place of the canvas, where both have pixels.
void put(const Image& image, int64_t left, int64_t top, Image& canvas) {
  const int64_t first = std::max<int64_t>(left, 0);
  const int64_t end = std::min(left + image.width, canvas.width);
  const int64_t last_row = std::min(top + image.height, canvas.height);
  for (int64_t y = std::max<int64_t>(top, 0); y < last_row && first < end; ++y) {
    std::memcpy(canvas.pixel(first, y), image.pixel(first - left, y - top),
                static_cast<size_t>(3 * (end - first)));
  }
}

Image on_square(const Image& image, const std::array<float, 3>& mean) {
  const int64_t side = std::max(image.width, image.height);
  Image square = Image::of_size(side, side);
  for (size_t i = 0; i < square.rgb.size(); ++i) {
    square.rgb[i] = static_cast<uint8_t>(std::clamp(mean[i % 3] * 255.0F, 0.0F, 255.0F));
  }
  put(image, (side - image.width) / 2, (side - image.height) / 2, square);
  return square;
}

// Where the middle of `kept` of a row's pixels begins; below 0 where there are fewer.
int64_t first_kept(int64_t pixels, int64_t kept) {
  const int64_t rest = pixels - kept;
  return rest >= 0 ? rest / 2 : -((1 - rest) / 2);
}

Image middle(const Image& image, int64_t width, int64_t height) {
  Image result = Image::of_size(width, height);
  put(image, -first_kept(image.width, width), -first_kept(image.height, height), result);
  return result;
}

HostTensor normalized(const Image& image, const Preparation& p) {
  HostTensor pixels = HostTensor::zeros(DType::kF32, {3, image.height, image.width});
  const std::span<float> values = pixels.mutable_values<float>();
  const size_t count = image.rgb.size() / 3;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(static_cast<double>(image.rgb[3 * i + c]) * p.scale);
      values[c * count + i] = (value - p.mean[c]) / p.deviation[c];
    }
  }
  return pixels;
}

void add_tiles(const Image& image, const Preparation& p, PreparedImage& result) {
  result.rows = image.height / p.tile;
  result.columns = image.width / p.tile;
  for (int64_t row = 0; row < result.rows; ++row) {
    for (int64_t column = 0; column < result.columns; ++column) {
      Image tile = Image::of_size(p.tile, p.tile);
      put(image, -column * p.tile, -row * p.tile, tile);
      result.parts.push_back(normalized(tile, p));
    }
  }
}

}  // namespace

Result<PreparedImage> prepared(const Image& image, const Preparation& p,
                               const std::string& source) {
  Image now = image;
  if (p.pads_to_square) {
    const int64_t side = std::max(image.width, image.height);
    TAPML_TRY(check_size(side, side, source));
    now = on_square(image, p.mean);
  }
  const auto resize = [&](const Size& size) -> Status {
    TAPML_TRY(check_size(size.width, size.height, source));
    // In between one direction has its old size.
    TAPML_TRY(check_size(size.width, now.height, source));
    TAPML_TRY(check_size(now.width, size.height, source));
    now = resized(now, size.width, size.height, p.filter);
    return {};
  };
  if (p.resize == Resize::kToModel) {
    return fail(internal_error("the size that the model reads is not known", source));
  }
  if (p.resize != Resize::kNone) TAPML_TRY(resize(size_after(now, p)));
  if (p.crop_height > 0) now = middle(now, p.crop_width, p.crop_height);
  PreparedImage result;
  if (p.tile > 0) {
    if (p.cuts) TAPML_TRY(resize(in_whole_tiles(now, p.tile)));
    if (p.cuts && (now.width > p.tile || now.height > p.tile)) add_tiles(now, p, result);
    TAPML_TRY(resize({p.tile, p.tile}));
  }
  result.parts.push_back(normalized(now, p));
  return result;
}

}  // namespace tapml::image
