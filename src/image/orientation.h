// The orientation of a picture in Exif data.
#pragma once

#include <cstddef>
#include <span>

#include "image/image.h"

namespace tapml::image {

// The orientation, from 1 to 8, of Exif data, which begins with a TIFF header; 1, upright, if it
// has none, or cannot be read.
int orientation_of(std::span<const std::byte> exif);

// The image upright.
Image turned(Image image, int orientation);

}  // namespace tapml::image
