#include "audio/preparation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "audio/fourier.h"
#include "audio/mel.h"
#include "audio/resample.h"

namespace tapml::audio {

namespace {

constexpr double kLeastPower = 1e-10;
// Below the largest logarithm, nothing is told apart.
constexpr double kRange = 8;

// Weights of the samples of a frame (Hann).
std::vector<double> frame_weights(int64_t window) {
  std::vector<double> weights;
  for (int64_t i = 0; i < window; ++i) {
    const double turn = static_cast<double>(i) / static_cast<double>(window);
    weights.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * turn));
  }
  return weights;
}

// The sound, padded, with half a window of its mirror image before it and after it.
std::vector<double> mirrored(const Sound& sound, const Preparation& p) {
  const int64_t count = p.samples(), beyond = p.window / 2, given = std::ssize(sound.samples);
  std::vector<double> all;
  for (int64_t i = -beyond; i < count + beyond; ++i) {
    const int64_t at = i < 0 ? -i : i < count ? i : 2 * (count - 1) - i;
    all.push_back(at < given ? sound.samples[static_cast<size_t>(at)] : p.padding);
  }
  return all;
}

}  // namespace

Result<HostTensor> prepared(const Sound& given, const Preparation& p, const std::string& source) {
  TAPML_ASSIGN(const Sound sound, resampled(given, p.rate, source));
  if (std::ssize(sound.samples) > p.samples()) {
    return fail(user_error("the sound is longer than the model reads", source,
                           "at most " + std::to_string(p.samples()) + " samples",
                           std::to_string(sound.samples.size())));
  }
  const std::vector<double> samples = mirrored(sound, p), weights = frame_weights(p.window);
  const int64_t frequencies = p.window / 2 + 1, frames = p.frames();
  const std::vector<MelBand> bands = mel_bands(p.bands, frequencies, p.rate);
  Fourier fourier(static_cast<size_t>(p.window));
  std::vector<double> frame(weights.size()), squares(static_cast<size_t>(frequencies));
  HostTensor features = HostTensor::zeros(DType::kF32, {p.bands, frames});
  const std::span<float> values = features.mutable_values<float>();
  double largest = std::log10(kLeastPower);
  for (int64_t t = 0; t < frames; ++t) {
    const auto first = samples.begin() + t * p.hop;
    std::transform(weights.begin(), weights.end(), first, frame.begin(), std::multiplies());
    fourier.power(frame, squares);
    for (size_t band = 0; band < bands.size(); ++band) {
      const double value = std::log10(std::max(bands[band].of(squares), kLeastPower));
      largest = std::max(largest, value);
      values[band * static_cast<size_t>(frames) + static_cast<size_t>(t)] =
          static_cast<float>(value);
    }
  }
  const auto least = static_cast<float>(largest - kRange);
  for (float& value : values) value = (std::max(value, least) + 4) / 4;
  return features;
}

}  // namespace tapml::audio
