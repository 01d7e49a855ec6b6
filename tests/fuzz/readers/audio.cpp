// WAV and FLAC files, and files of feature extractors. An accepted sound is not longer than asked,
// and its samples are numbers. Checksums of FLAC are in the way of the mutator, so the inputs
// include WAV files.
#include <cmath>

#include "audio/decode.h"
#include "audio/preparation.h"
#include "finding.h"

using namespace tapml;                // NOLINT(google-build-using-namespace)
using namespace tapml::fuzz_readers;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr double kLongest = 2;
  const auto preparation =
      audio::parse_preparation(as_text(data, size), "preprocessor_config.json");
  if (!preparation) require_user_error(preparation.error());
  const auto sound =
      audio::decode_sound({reinterpret_cast<const std::byte*>(data), size}, "input", kLongest);
  if (!sound) {
    require_user_error(sound.error());
    return 0;
  }
  require(sound->rate > 0 && !sound->samples.empty(), "a sound without samples");
  require(static_cast<double>(sound->samples.size()) <= kLongest * static_cast<double>(sound->rate),
          "a sound that is too long");
  for (const float sample : sound->samples) require(std::isfinite(sample), "not a number");
  return 0;
}
