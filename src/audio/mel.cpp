#include "audio/mel.h"

#include <algorithm>
#include <cmath>

namespace tapml::audio {

namespace {

constexpr double kHighest = 8000;  // Hz
// Below the knee the scale is linear, above it logarithmic.
constexpr double kKnee = 1000, kMelsAtKnee = 15, kHzOfMel = kKnee / kMelsAtKnee;
const double kLogStep = std::log(6.4) / 27;

double to_mel(double hz) {
  return hz < kKnee ? hz / kHzOfMel : kMelsAtKnee + std::log(hz / kKnee) / kLogStep;
}

double to_hz(double mel) {
  return mel < kMelsAtKnee ? mel * kHzOfMel : kKnee * std::exp((mel - kMelsAtKnee) * kLogStep);
}

}  // namespace

double MelBand::of(std::span<const double> squares) const {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * squares[first + i];
  return sum;
}

std::vector<MelBand> mel_bands(int64_t bands, int64_t frequencies, int64_t rate) {
  std::vector<double> corners;  // of the triangles
  for (int64_t i = 0; i < bands + 2; ++i) {
    corners.push_back(
        to_hz(to_mel(kHighest) * static_cast<double>(i) / static_cast<double>(bands + 1)));
  }
  const double spacing = static_cast<double>(rate / 2) / static_cast<double>(frequencies - 1);
  std::vector<MelBand> all;
  for (size_t i = 0; i < static_cast<size_t>(bands); ++i) {
    const double left = corners[i], middle = corners[i + 1], right = corners[i + 2];
    MelBand band;
    for (int64_t k = 0; k < frequencies; ++k) {
      const double hz = spacing * static_cast<double>(k);
      const double height =
          std::min((hz - left) / (middle - left), (right - hz) / (right - middle));
      if (height <= 0) continue;
      if (band.weights.empty()) band.first = static_cast<size_t>(k);
      band.weights.push_back(height * 2 / (right - left));
    }
    all.push_back(std::move(band));
  }
  return all;
}

}  // namespace tapml::audio
