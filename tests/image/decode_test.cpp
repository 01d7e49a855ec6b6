// Image files against what Pillow makes of them, and files that cannot be read.
#include "image/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "image/orientation.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "pictures.h"

namespace tapml::image {
namespace {

using std::string_view_literals::operator""sv;

std::vector<std::byte> bytes_of(const std::string& name) {
  const auto file = map_file(picture(name));
  EXPECT_TRUE(file) << name;
  return file ? std::vector<std::byte>(file->bytes.begin(), file->bytes.end())
              : std::vector<std::byte>();
}

std::vector<std::byte> bytes(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

void expect_error(const std::vector<std::byte>& file, const std::string& part) {
  const auto image = decode_image(file, "a.png");
  ASSERT_FALSE(image) << part;
  EXPECT_EQ(image.error().kind, ErrorKind::kUser);
  EXPECT_EQ(image.error().where, "a.png");
  EXPECT_NE(image.error().to_string().find(part), std::string::npos) << image.error().to_string();
}

TEST(DecodeImage, IsLikePillow) {
  const auto file = map_file(picture("decoded.safetensors"));
  ASSERT_TRUE(file);
  const auto decoded = parse_safetensors(file->bytes, file->owner, "decoded.safetensors");
  ASSERT_TRUE(decoded);
  EXPECT_GE(decoded->tensors.size(), 20U);
  for (const auto& [name, expected] : decoded->tensors) {
    SCOPED_TRACE(name);
    const auto image = read_image(picture(name));
    ASSERT_TRUE(image) << image.error().to_string();
    ASSERT_EQ((Shape{image->height, image->width, 3}), expected.shape());
    int largest = 0;
    for (size_t i = 0; i < image->rgb.size(); ++i) {
      largest =
          std::max(largest, std::abs(int{image->rgb[i]} - int{expected.values<uint8_t>()[i]}));
    }
    EXPECT_EQ(largest, 0);
  }
}

TEST(DecodeImage, NamesOtherFormats) {
  expect_error({}, "an empty file");
  expect_error(bytes("GIF89a......"sv), "a GIF image");
  expect_error(bytes("RIFF\x10\0\0\0WEBPVP8 "sv), "a WebP image");
  expect_error(bytes("\0\0\0\x18"
                     "ftypheic"sv),
               "a HEIC image");
  expect_error(bytes("some text"sv), "a file of another format");
}

TEST(DecodeImage, RefusesTruncatedFiles) {
  for (const char* name : {"rgb.png", "rgb.jpg", "progressive.jpg"}) {
    const std::vector<std::byte> whole = bytes_of(name);
    for (const size_t size : {size_t{9}, size_t{40}, whole.size() / 2, whole.size() - 40}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(size));
      expect_error({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)},
                   "the image cannot be read");
    }
  }
}

TEST(DecodeImage, RefusesDamagedFiles) {
  std::vector<std::byte> damaged = bytes_of("rgb.png");
  damaged[damaged.size() / 2] ^= std::byte{0x10};
  expect_error(damaged, "the image cannot be read");
}

// The size of a header, without the memory for it.
TEST(DecodeImage, RefusesLargeImages) {
  std::vector<std::byte> png = bytes_of("rgb.png");
  for (const size_t at : {size_t{16}, size_t{20}}) {  // width and height: 30,000
    png[at + 2] = std::byte{0x75};
    png[at + 3] = std::byte{0x30};
  }
  // Its checksum: the decoder must not come to it first.
  const auto image = decode_image(png, "a.png");
  ASSERT_FALSE(image);
  std::vector<std::byte> jpeg = bytes_of("rgb.jpg");
  const auto frame = std::ranges::search(jpeg, bytes("\xFF\xC0"sv));
  ASSERT_FALSE(frame.empty());
  for (const std::ptrdiff_t at : {5, 7}) {
    frame.begin()[at] = std::byte{0x75};
    frame.begin()[at + 1] = std::byte{0x30};
  }
  expect_error(jpeg, "30000 x 30000");
}

TEST(DecodeImage, RefusesAnimations) {
  std::vector<std::byte> png = bytes_of("rgb.png");
  const std::vector<std::byte> control = bytes(
      "\0\0\0\x08"
      "acTL\0\0\0\x02\0\0\0\0\xF3\x8D\x93\x70"sv);
  png.insert(png.begin() + 33, control.begin(), control.end());
  expect_error(png, "an animation");
}

TEST(Orientation, IsUprightForDataThatCannotBeRead) {
  EXPECT_EQ(orientation_of({}), 1);
  EXPECT_EQ(orientation_of(bytes("II*\0\x08\0\0\0"sv)), 1);
  EXPECT_EQ(orientation_of(bytes("II*\0\xFF\xFF\xFF\xFF"sv)), 1);
  const std::vector<std::byte> little =
      bytes("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"sv);
  const std::vector<std::byte> big =
      bytes("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0"sv);
  EXPECT_EQ(orientation_of(little), 6);
  EXPECT_EQ(orientation_of(big), 8);
  EXPECT_EQ(orientation_of(std::span(little).first(18)), 1);
}

}  // namespace
}  // namespace tapml::image
