#include <spng.h>

#include <memory>

#include "image/decode.h"
#include "image/orientation.h"

namespace tapml::image {

namespace {

// Far more than text and color profiles of a picture need.
constexpr size_t kMostChunkBytes = size_t{16} << 20;
constexpr size_t kFirstChunk = 8;  // after the signature

// The chunk "acTL" before the first image data says that there are several pictures. Lengths are
// big-endian, and the decoder checks them later.
bool is_animated(std::span<const std::byte> file) {
  size_t at = kFirstChunk;
  while (file.size() >= 8 && at <= file.size() - 8) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) {
      length = (length << 8) | std::to_integer<size_t>(file[at + i]);
    }
    const std::string_view name(reinterpret_cast<const char*>(file.data() + at + 4), 4);
    if (name == "acTL") return true;
    if (name == "IDAT") return false;
    at += 12 + length;
  }
  return false;
}

// On white, rounded as Pillow's alpha_composite() does it.
uint8_t on_white(uint8_t value, uint8_t alpha) {
  const uint32_t sum = (uint32_t{value} * alpha + uint32_t{255} * (255U - alpha) + 128) << 7;
  return static_cast<uint8_t>((((sum >> 8) + sum) >> 8) >> 7);
}

}  // namespace

Result<Image> decode_png(std::span<const std::byte> file, const std::string& source) {
  if (is_animated(file)) {
    return fail(user_error("the image is an animation", source, "a single picture",
                           "a PNG file of several frames", "save one frame as a PNG file"));
  }
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> context(spng_ctx_new(0),
                                                                    &spng_ctx_free);
  const auto failed = [&](int code) { return fail(broken_file(source, spng_strerror(code))); };
  if (!context) return failed(SPNG_EMEM);
  if (const int code = spng_set_chunk_limits(context.get(), kMostChunkBytes, 4 * kMostChunkBytes)) {
    return failed(code);
  }
  if (const int code = spng_set_png_buffer(context.get(), file.data(), file.size())) {
    return failed(code);
  }
  spng_ihdr header = {};
  if (const int code = spng_get_ihdr(context.get(), &header)) return failed(code);
  TAPML_TRY(check_size(header.width, header.height, source));
  std::vector<uint8_t> rgba(size_t{4} * header.width * header.height);
  if (const int code = spng_decode_image(context.get(), rgba.data(), rgba.size(), SPNG_FMT_RGBA8,
                                         SPNG_DECODE_TRNS)) {
    return failed(code);
  }
  Image image = Image::of_size(header.width, header.height);
  for (size_t i = 0; i < rgba.size() / 4; ++i) {
    const uint8_t alpha = rgba[4 * i + 3];
    for (size_t c = 0; c < 3; ++c) image.rgb[3 * i + c] = on_white(rgba[4 * i + c], alpha);
  }
  spng_exif exif = {};
  if (spng_get_exif(context.get(), &exif) != 0) return image;
  return turned(std::move(image),
                orientation_of({reinterpret_cast<const std::byte*>(exif.data), exif.length}));
}

}  // namespace tapml::image
