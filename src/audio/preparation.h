// What a published feature extractor makes of sound before a model reads it: Whisper's logarithms
// of the power of mel bands (Radford et al. 2022, section 2.2).
#pragma once

#include <string>
#include <string_view>

#include "audio/sound.h"
#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::audio {

struct Preparation {
  int64_t bands = 80;
  int64_t rate = 16000;  // samples per second
  int64_t window = 400;  // samples of a frame
  int64_t hop = 160;     // samples between frames
  int64_t seconds = 30;  // to which sound is padded
  float padding = 0;     // sample that follows the sound

  int64_t samples() const { return seconds * rate; }
  // The last one is dropped.
  int64_t frames() const { return (samples() - window % 2) / hop; }
};

// Parses a preprocessor_config.json, or the object "feature_extractor" of a processor_config.json.
// Absent fields get the defaults of the class in transformers. UserError for a class that is not
// known, and for everything that Preparation cannot express, at the field.
Result<Preparation> parse_preparation(std::string_view text, const std::string& source);

// The preparation in a model folder. UserError as above, and if there is no such file.
Result<Preparation> read_preparation(const std::string& folder);

// f32[bands, frames] of a sound, at the preparation's rate. `source` names the sound in errors:
// UserError for one that is longer than the preparation's seconds, and as resampled().
Result<HostTensor> prepared(const Sound& sound, const Preparation& preparation,
                            const std::string& source);

}  // namespace tapml::audio
