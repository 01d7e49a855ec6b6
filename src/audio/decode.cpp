#include "audio/decode.h"

#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "io/host/files.h"

namespace tapml::audio {

namespace {

constexpr sf_count_t kFramesAtOnce = 4096;
constexpr int kMostChannels = 256;
constexpr const char* kFormats = "WAV or FLAC";

bool begins_with(std::span<const std::byte> file, std::string_view text, size_t at = 0) {
  if (file.size() < at + text.size()) return false;
  return std::ranges::equal(file.subspan(at, text.size()), std::as_bytes(std::span(text)));
}

// Formats that a user may have, for messages.
std::string format_of(std::span<const std::byte> file) {
  struct Format {
    std::string_view begin, name;
    size_t at = 0;
  };
  constexpr std::array kKnown = {
      Format{"ID3", "an MP3 file"},         Format{"\xFF\xFB", "an MP3 file"},
      Format{"OggS", "an Ogg file"},        Format{"FORM", "an AIFF file"},
      Format{"ftyp", "an MP4 file", 4},     Format{"\x1A\x45\xDF\xA3", "a Matroska or WebM file"},
      Format{"\x89PNG", "a PNG image"},     Format{"\xFF\xD8\xFF", "a JPEG image"},
      Format{"version ", "a Git LFS file"},
  };
  if (file.empty()) return "an empty file";
  for (const Format& one : kKnown) {
    if (begins_with(file, one.begin, one.at)) return std::string(one.name);
  }
  return "a file of another format";
}

Error broken_file(const std::string& source, const std::string& found) {
  return user_error("the sound file is broken", source, std::string("a whole file of ") + kFormats,
                    found, "make it again");
}

// libsndfile reads a file that lacks its end as a shorter one. Programs that write to a pipe leave
// the size 0 or all bits set.
Status check_whole_wav(std::span<const std::byte> file, const std::string& source) {
  constexpr uint64_t kHeader = 8;
  if (!begins_with(file, "RIFF") || file.size() < kHeader) return {};
  uint32_t size = 0;
  for (size_t i = 0; i < 4; ++i) size |= std::to_integer<uint32_t>(file[4 + i]) << (8 * i);
  // A last byte of padding is often missing.
  if (size == 0 || size == 0xFFFFFFFF || size + kHeader <= file.size() + 1) return {};
  return fail(broken_file(
      source, std::to_string(file.size()) + " bytes of " + std::to_string(size + kHeader)));
}

// A file in memory, as libsndfile reads it.
struct Stream {
  std::span<const std::byte> bytes;
  sf_count_t at = 0;
};

sf_count_t size_of(void* user) { return std::ssize(static_cast<const Stream*>(user)->bytes); }

sf_count_t seek(sf_count_t offset, int whence, void* user) {
  auto* stream = static_cast<Stream*>(user);
  const sf_count_t size = size_of(user);
  const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? stream->at : size;
  if (offset < -base || offset > size - base) return -1;
  return stream->at = base + offset;
}

sf_count_t read(void* to, sf_count_t count, void* user) {
  auto* stream = static_cast<Stream*>(user);
  const sf_count_t taken = std::clamp<sf_count_t>(count, 0, size_of(user) - stream->at);
  if (taken > 0) std::memcpy(to, stream->bytes.data() + stream->at, static_cast<size_t>(taken));
  stream->at += taken;
  return taken;
}

sf_count_t write(const void*, sf_count_t, void*) { return 0; }
sf_count_t tell(void* user) { return static_cast<const Stream*>(user)->at; }

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

Status check_length(double seconds, double longest, const std::string& source) {
  if (seconds <= longest) return {};
  const std::string most = number_text(longest);
  const double found = std::ceil(seconds * 1000) / 1000;
  return fail(user_error("the sound is longer than the model reads", source,
                         "at most " + most + " s", number_text(found) + " s",
                         "cut it: ffmpeg -i FILE -t " + most + " part.wav"));
}

// Adds the mean of each frame's channels.
Status add_frames(std::span<const float> values, size_t channels, const std::string& source,
                  std::vector<float>& samples) {
  for (size_t first = 0; first < values.size(); first += channels) {
    double sum = 0;
    for (size_t c = 0; c < channels; ++c) sum += static_cast<double>(values[first + c]);
    const auto mean = static_cast<float>(sum / static_cast<double>(channels));
    if (!std::isfinite(mean)) {
      return fail(user_error("the sound has a sample that is not a number", source,
                             "finite samples", "sample " + std::to_string(samples.size())));
    }
    samples.push_back(mean);
  }
  return {};
}

Result<Sound> decoded(SNDFILE* file, const SF_INFO& info, const std::string& source,
                      double longest) {
  const auto rate = static_cast<double>(info.samplerate);
  const bool is_known = info.frames > 0 && info.frames < SF_COUNT_MAX;
  if (is_known) TAPML_TRY(check_length(static_cast<double>(info.frames) / rate, longest, source));
  Sound sound{info.samplerate, {}};
  const auto channels = static_cast<size_t>(info.channels);
  std::vector<float> block(static_cast<size_t>(kFramesAtOnce) * channels);
  for (;;) {
    const sf_count_t count = sf_readf_float(file, block.data(), kFramesAtOnce);
    if (count <= 0) break;
    TAPML_TRY(add_frames(std::span(block).first(static_cast<size_t>(count) * channels), channels,
                         source, sound.samples));
    TAPML_TRY(check_length(static_cast<double>(sound.samples.size()) / rate, longest, source));
  }
  const auto found = std::ssize(sound.samples);
  if (sf_error(file) != SF_ERR_NO_ERROR) return fail(broken_file(source, sf_strerror(file)));
  if (is_known && found < info.frames) {
    return fail(broken_file(
        source, std::to_string(found) + " of " + std::to_string(info.frames) + " samples"));
  }
  if (found == 0) {
    return fail(user_error("the sound file has no sound", source, "at least one sample", "none"));
  }
  return sound;
}

}  // namespace

Result<Sound> decode_sound(std::span<const std::byte> file, const std::string& source,
                           double longest) {
  const bool is_wav = (begins_with(file, "RIFF") || begins_with(file, "RF64")) &&
                      (begins_with(file, "WAVE", 8) || file.size() < 12);
  if (!is_wav && !begins_with(file, "fLaC")) {
    return fail(user_error("the file is not a sound that can be read", source, kFormats,
                           format_of(file), "convert it: ffmpeg -i FILE -ac 1 sound.wav"));
  }
  TAPML_TRY(check_whole_wav(file, source));
  SF_VIRTUAL_IO input = {size_of, seek, read, write, tell};
  Stream stream{file};
  SF_INFO info = {};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> opened(
      sf_open_virtual(&input, SFM_READ, &info, &stream), &sf_close);
  if (!opened) return fail(broken_file(source, sf_strerror(nullptr)));
  if (info.samplerate < 1 || info.channels < 1 || info.channels > kMostChannels) {
    return fail(broken_file(source, std::to_string(info.channels) + " channels of " +
                                        std::to_string(info.samplerate) + " samples per second"));
  }
  return decoded(opened.get(), info, source, longest);
}

Result<Sound> read_sound(const std::string& path, double longest) {
  TAPML_ASSIGN(const MappedFile file, map_file(path));
  return decode_sound(file.bytes, path, longest);
}

}  // namespace tapml::audio
