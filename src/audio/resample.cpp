#include "audio/resample.h"

#include <samplerate.h>

#include <cmath>

namespace tapml::audio {

Result<Sound> resampled(const Sound& sound, int64_t rate, const std::string& source) {
  if (sound.rate == rate || sound.samples.empty()) return Sound{rate, sound.samples};
  const double ratio = static_cast<double>(rate) / static_cast<double>(sound.rate);
  if (src_is_valid_ratio(ratio) == 0) {
    return fail(user_error("the sound's rate is too far from the model's", source,
                           "a rate near " + std::to_string(rate) + " samples per second",
                           std::to_string(sound.rate)));
  }
  const auto count =
      static_cast<size_t>(std::ceil(static_cast<double>(sound.samples.size()) * ratio));
  Sound result{rate, std::vector<float>(count)};
  SRC_DATA data = {};
  data.data_in = sound.samples.data();
  data.data_out = result.samples.data();
  data.input_frames = std::ssize(sound.samples);
  data.output_frames = static_cast<long>(count);
  data.src_ratio = ratio;
  const int status = src_simple(&data, SRC_SINC_BEST_QUALITY, 1);
  if (status != 0) return fail(internal_error(src_strerror(status), source));
  return result;
}

}  // namespace tapml::audio
