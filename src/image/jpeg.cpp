#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "image/decode.h"
#include "image/orientation.h"

namespace tapml::image {

namespace {

using std::string_view_literals::operator""sv;

constexpr auto kExifSegment = 0xE1U, kFirstScan = 0xDAU;

// The Exif data of the segments before the picture; empty if there is none.
std::span<const std::byte> find_exif(std::span<const std::byte> file) {
  constexpr std::string_view kName = "Exif\0\0"sv;
  size_t at = 2;
  while (at + 4 <= file.size() && file[at] == std::byte{0xFF}) {
    const auto kind = std::to_integer<unsigned>(file[at + 1]);
    const size_t length =
        std::to_integer<size_t>(file[at + 2]) * 256 + std::to_integer<size_t>(file[at + 3]);
    if (kind == kFirstScan || length < 2 || length > file.size() - at - 2) return {};
    const auto content = file.subspan(at + 4, length - 2);
    if (kind == kExifSegment && content.size() > kName.size() &&
        std::ranges::equal(content.first(kName.size()), std::as_bytes(std::span(kName)))) {
      return content.subspan(kName.size());
    }
    at += 2 + length;
  }
  return {};
}

// a * b / 255, rounded, as Pillow has it.
uint32_t product_of_bytes(uint32_t a, uint32_t b) {
  const uint32_t product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

// Files have the inverses of CMYK, as Adobe's programs write it.
void to_rgb(std::span<const uint8_t> inverses, std::vector<uint8_t>& rgb) {
  for (size_t i = 0; i < inverses.size() / 4; ++i) {
    const uint32_t light = inverses[4 * i + 3];  // 255 - black
    for (size_t c = 0; c < 3; ++c) {
      const uint32_t ink = 255U - inverses[4 * i + c];
      rgb[3 * i + c] = static_cast<uint8_t>(light - product_of_bytes(ink, light));
    }
  }
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> file, const std::string& source) {
  const std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), &tjDestroy);
  if (!decoder) return fail(broken_file(source, "no decoder"));
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  const auto failed = [&] { return fail(broken_file(source, tjGetErrorStr2(decoder.get()))); };
  int width = 0, height = 0, sampling = 0, colors = 0;
  if (tjDecompressHeader3(decoder.get(), bytes, file.size(), &width, &height, &sampling, &colors) !=
      0) {
    return failed();
  }
  TAPML_TRY(check_size(width, height, source));
  const bool is_cmyk = colors == TJCS_CMYK || colors == TJCS_YCCK;
  Image image = Image::of_size(width, height);
  std::vector<uint8_t> inverses(is_cmyk ? image.rgb.size() / 3 * 4 : 0);
  uint8_t* to = is_cmyk ? inverses.data() : image.rgb.data();
  // A file of many scans takes long to read.
  const int flags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  if (tjDecompress2(decoder.get(), bytes, file.size(), to, width, 0, height,
                    is_cmyk ? TJPF_CMYK : TJPF_RGB, flags) != 0) {
    // Of the warnings only this one means that a part is missing.
    const std::string_view text = tjGetErrorStr2(decoder.get());
    const bool is_whole = tjGetErrorCode(decoder.get()) == TJERR_WARNING &&
                          text.find("Premature end") == std::string_view::npos;
    if (!is_whole) return failed();
  }
  if (is_cmyk) to_rgb(inverses, image.rgb);
  return turned(std::move(image), orientation_of(find_exif(file)));
}

}  // namespace tapml::image
