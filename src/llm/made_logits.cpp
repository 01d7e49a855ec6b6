#include "llm/made_logits.h"

#include <cmath>
#include <limits>

namespace tapml::llm {

namespace {

constexpr int64_t kRows = 8;
constexpr int64_t kTile = 64;  // a common number of threads, or of elements, of a reduction's step

}  // namespace

HostTensor made_logits(int64_t vocabulary) {
  HostTensor logits = HostTensor::zeros(DType::kF32, {kRows, vocabulary});
  const auto all = logits.mutable_values<float>();
  const auto row = [&](int64_t r) {
    return all.subspan(static_cast<size_t>(r * vocabulary), static_cast<size_t>(vocabulary));
  };
  // The element `i` after the first one, or the last one of a small vocabulary.
  const auto at = [&](std::span<float> values, int64_t i) -> float& {
    return values[static_cast<size_t>(std::min(i, vocabulary - 1))];
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < vocabulary; ++i) {
    const auto e = static_cast<size_t>(i);
    // Spread over [0, 1), and different for neighbours.
    const auto spread = static_cast<float>((i * 40503) % 65536) / 65536;
    row(0)[e] = -2 - spread;
    row(1)[e] = spread;
    row(2)[e] = spread;
    row(3)[e] = 1 + spread * 0x1p-9F;
    row(4)[e] = 0.5F;
    row(5)[e] = i % 2 == 0 ? -0.0F : 0.0F;
    row(6)[e] = -kInfinity;
    row(7)[e] = -1000 * spread;
  }
  at(row(0), 0) = -1;
  at(row(1), vocabulary - 1) = 2;
  at(row(2), kTile - 1) = at(row(2), kTile) = 3;
  at(row(3), 4 * kTile - 1) = 1 + 0x1p-8F;
  at(row(6), kTile + 1) = -5;
  at(row(7), 2 * kTile) = 100;
  at(row(7), vocabulary - 1) = std::nextafter(100.0F, kInfinity);
  return logits;
}

}  // namespace tapml::llm
