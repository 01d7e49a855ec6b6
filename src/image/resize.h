// Resizes pictures as Pillow does: separable filters, whose width grows with the reduction, in
// fixed point with a rounding to 8 bits after each direction.
#pragma once

#include "image/image.h"

namespace tapml::image {

enum class Filter : uint8_t { kBox, kBilinear, kHamming, kBicubic, kLanczos };

// The image with another size, from 1 to kMostPixels pixels.
Image resized(const Image& image, int64_t width, int64_t height, Filter filter);

}  // namespace tapml::image
