// Bands of frequencies as people hear them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tapml::audio {

// A band: weights of consecutive frequencies.
struct MelBand {
  size_t first = 0;
  std::vector<double> weights;

  double of(std::span<const double> squares) const;
};

// `bands` triangles from 0 to 8,000 Hz over `frequencies` from 0 to rate / 2, evenly spaced on
// Slaney's mel scale and of equal area (Slaney 1998, Auditory Toolbox), as transformers' Whisper
// has them. `frequencies` is at least 2.
std::vector<MelBand> mel_bands(int64_t bands, int64_t frequencies, int64_t rate);

}  // namespace tapml::audio
