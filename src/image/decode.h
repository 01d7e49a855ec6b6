// Reads image files: PNG and JPEG.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "image/image.h"

namespace tapml::image {

// The image of a file's bytes, turned as its Exif data says. Grays, palettes, CMYK and 16 bits
// become RGB of 8 bits as Pillow converts them; what is transparent is put on white. `source` names
// the file in errors. UserError for another format, an animation, a file that is empty, truncated
// or broken, and for more than kMostPixels.
Result<Image> decode_image(std::span<const std::byte> file, const std::string& source);

// The same of a file.
Result<Image> read_image(const std::string& path);

// The formats. Internal to the component.
Result<Image> decode_png(std::span<const std::byte> file, const std::string& source);
Result<Image> decode_jpeg(std::span<const std::byte> file, const std::string& source);
// UserError for more than kMostPixels.
Status check_size(int64_t width, int64_t height, const std::string& source);
Error broken_file(const std::string& source, const std::string& found);

}  // namespace tapml::image
