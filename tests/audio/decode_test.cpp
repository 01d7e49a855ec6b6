// Sound files that are read, and what is refused.
#include "audio/decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "io/host/files.h"
#include "sounds.h"

namespace tapml::audio {
namespace {

using std::string_view_literals::operator""sv;

std::vector<std::byte> bytes_of(const std::string& name) {
  const auto file = map_file(sound(name));
  EXPECT_TRUE(file) << name;
  return file ? std::vector<std::byte>(file->bytes.begin(), file->bytes.end())
              : std::vector<std::byte>();
}

std::vector<std::byte> bytes(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

void expect_error(const std::vector<std::byte>& file, const std::string& part) {
  const auto read = decode_sound(file, "a.wav", 30);
  ASSERT_FALSE(read) << part;
  EXPECT_EQ(read.error().kind, ErrorKind::kUser);
  EXPECT_EQ(read.error().where, "a.wav");
  EXPECT_NE(read.error().to_string().find(part), std::string::npos) << read.error().to_string();
}

TEST(DecodeSound, OfSeveralForms) {
  struct File {
    const char* name;
    int64_t rate;
    size_t samples;
  };
  for (const File& one : {File{"mono16.wav", 16000, 14400}, File{"stereo24.flac", 16000, 8000},
                          File{"float8k.wav", 8000, 12000}, File{"unsigned8.wav", 16000, 3200},
                          File{"tone44k.wav", 44100, 13230}}) {
    SCOPED_TRACE(one.name);
    const auto read = read_sound(sound(one.name), 30);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(read->rate, one.rate);
    EXPECT_EQ(read->samples.size(), one.samples);
  }
  const auto tone = read_sound(sound("tone44k.wav"), 30);
  ASSERT_TRUE(tone);
  for (const size_t i : {0, 1, 25, 13229}) {
    const double expected = 0.5 * std::sin(2 * M_PI * 440 * static_cast<double>(i) / 44100);
    EXPECT_NEAR(static_cast<double>(tone->samples[i]), expected, 1.0 / 32768) << i;
  }
}

TEST(DecodeSound, NamesOtherFormats) {
  expect_error({}, "an empty file");
  expect_error(bytes("ID3\x04"sv), "an MP3 file");
  expect_error(bytes("OggS\0\0"sv), "an Ogg file");
  expect_error(bytes("\0\0\0\x20"
                     "ftypM4A "sv),
               "an MP4 file");
  expect_error(bytes("\x89PNG\r\n"sv), "a PNG image");
  expect_error(bytes("hello"sv), "convert it: ffmpeg");
  // An image format in the same container.
  expect_error(bytes("RIFF\x10\0\0\0WEBPVP8 "sv), "WAV or FLAC");
}

// Every beginning of a file is refused.
TEST(DecodeSound, ThatIsTruncated) {
  for (const char* name : {"mono16.wav", "stereo24.flac", "float8k.wav"}) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> file = bytes_of(name);
    for (size_t size = 4; size < file.size() - 1; size += size < 128 ? 1 : 997) {
      const auto read = decode_sound(std::span(file).first(size), "a.wav", 30);
      ASSERT_FALSE(read) << size;
      EXPECT_EQ(read.error().kind, ErrorKind::kUser) << read.error().to_string();
    }
  }
}

TEST(DecodeSound, ThatIsTooLong) {
  const std::vector<std::byte> file = bytes_of("mono16.wav");
  const auto read = decode_sound(file, "a.wav", 0.5);
  ASSERT_FALSE(read);
  const std::string text = read.error().to_string();
  EXPECT_NE(text.find("longer than the model reads"), std::string::npos) << text;
  EXPECT_NE(text.find("at most 0.5 s"), std::string::npos) << text;
  EXPECT_NE(text.find("0.9 s"), std::string::npos) << text;
  EXPECT_TRUE(decode_sound(file, "a.wav", 0.9));
}

TEST(DecodeSound, WithSamplesThatAreNoNumbers) {
  std::vector<std::byte> file = bytes_of("float8k.wav");
  const float wrong = std::numeric_limits<float>::quiet_NaN();
  std::ranges::copy(std::as_bytes(std::span(&wrong, 1)), file.end() - 4);
  expect_error(file, "sample 11999");
}

// A broken byte anywhere is an error or another sound.
TEST(DecodeSound, WithBrokenBytes) {
  for (const char* name : {"mono16.wav", "stereo24.flac"}) {
    std::vector<std::byte> file = bytes_of(name);
    for (size_t at = 0; at < file.size(); at += at < 64 ? 1 : 1009) {
      for (const std::byte flip : {std::byte{0x01}, std::byte{0xFF}}) {
        file[at] ^= flip;
        const auto read = decode_sound(file, "a.wav", 30);
        const ErrorKind kind = read ? ErrorKind::kUser : read.error().kind;
        EXPECT_EQ(kind, ErrorKind::kUser) << name << ", byte " << at;
        file[at] ^= flip;
      }
    }
  }
}

}  // namespace
}  // namespace tapml::audio
