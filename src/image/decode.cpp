#include "image/decode.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "io/host/files.h"

namespace tapml::image {

namespace {

using std::string_view_literals::operator""sv;

bool begins_with(std::span<const std::byte> file, std::string_view text, size_t at = 0) {
  if (file.size() < at + text.size()) return false;
  return std::ranges::equal(file.subspan(at, text.size()), std::as_bytes(std::span(text)));
}

// Formats that a user may have, for messages.
std::string name_of(std::span<const std::byte> file) {
  if (file.empty()) return "an empty file";
  if (begins_with(file, "RIFF"sv) && begins_with(file, "WEBP"sv, 8)) return "a WebP image";
  struct Format {
    std::string_view first;
    const char* name;
  };
  constexpr std::array kFormats = {
      Format{"GIF8"sv, "a GIF image"},         Format{"BM"sv, "a BMP image"},
      Format{"II*\0"sv, "a TIFF image"},       Format{"MM\0*"sv, "a TIFF image"},
      Format{"<svg"sv, "an SVG image"},        Format{"<?xml"sv, "an XML file"},
      Format{"%PDF"sv, "a PDF file"},          Format{"\0\0\1\0"sv, "an icon"},
      Format{"\xFF\x0A"sv, "a JPEG XL image"},
  };
  for (const Format& one : kFormats) {
    if (begins_with(file, one.first)) return one.name;
  }
  if (begins_with(file, "ftypheic"sv, 4) || begins_with(file, "ftypmif1"sv, 4)) {
    return "a HEIC image";
  }
  return begins_with(file, "ftypavif"sv, 4) ? "an AVIF image" : "a file of another format";
}

}  // namespace

Error broken_file(const std::string& source, const std::string& found) {
  return user_error("the image cannot be read", source, "a whole PNG or JPEG file", found,
                    "open it with another program, and save it again");
}

Status check_size(int64_t width, int64_t height, const std::string& source) {
  if (width < 1 || height < 1) return fail(broken_file(source, "no size"));
  if (width <= kMostPixels && height <= kMostPixels / width) return {};
  return fail(user_error(
      "the image is too large", source, "at most " + std::to_string(kMostPixels) + " pixels",
      std::to_string(width) + " x " + std::to_string(height), "make it smaller"));
}

Result<Image> decode_image(std::span<const std::byte> file, const std::string& source) {
  if (begins_with(file, "\x89PNG\r\n\x1a\n"sv)) return decode_png(file, source);
  if (begins_with(file, "\xFF\xD8\xFF"sv)) return decode_jpeg(file, source);
  return fail(user_error("the file is not an image that can be read", source, "a PNG or JPEG file",
                         name_of(file), "convert it to PNG"));
}

Result<Image> read_image(const std::string& path) {
  TAPML_ASSIGN(const MappedFile file, map_file(path));
  return decode_image(file.bytes, path);
}

}  // namespace tapml::image
