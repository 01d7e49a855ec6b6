#include "frontend/huggingface/quantize_group.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace tapml::frontend {

namespace {

constexpr size_t kLanes = 4, kLongestGroup = 128;
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;

// Candidate scales range from that of one level fewer than there are to that of 0.9 more.
constexpr int kTried = 20;
constexpr float kLevelStep = 0.1f;
// Outside this range, sums of squares overflow or underflow f32 when candidates are compared.
constexpr float kSmallest = 1e-18f, kLargest = 1e15f;

float sum(Lanes lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

// A group of elements, or of levels.
struct Group {
  std::array<Lanes, kLongestGroup / kLanes> lanes;
  size_t vectors;
};

class GroupQuantizer {
 public:
  GroupQuantizer(std::span<const float> elements, const models::WeightLayout& layout)
      : dtype_(layout.scales), size_(static_cast<float>(elements.size())) {
    const LevelRange range = level_range(layout);
    lowest_ = static_cast<float>(range.lowest);
    highest_ = static_cast<float>(range.highest);
    elements_.vectors = elements.size() / kLanes;
    std::memcpy(elements_.lanes.data(), elements.data(), elements.size_bytes());
    levels_ = elements_;
  }

  GroupScale symmetric(float largest) {
    GroupScale best{rounded(largest / lowest_), 0};
    const float plain_error = quantize(best, levels_);
    const float magnitude = std::fabs(largest);
    if (magnitude > kSmallest && magnitude < kLargest) {
      float most = -1, found = best.scale;
      for (int i = 0; i < kTried; ++i) {
        float gain = 0;
        const float divisor = highest_ + kLevelStep * static_cast<float>(i);
        const float scale = refit(-divisor / largest, gain);
        if (gain <= most) continue;
        most = gain;
        found = scale;
      }
      use_if_better({rounded(found), 0}, plain_error, best);
    }
    return best;
  }

  GroupScale affine(float least, float greatest) {
    const float count = highest_ - lowest_;
    GroupScale best = rounded_pair((greatest - least) / count, least);
    const float plain_error = quantize(best, levels_);
    const float magnitude = std::max(std::fabs(least), std::fabs(greatest));
    if (greatest > least && magnitude > kSmallest && magnitude < kLargest) {
      float most = -1;
      GroupScale found = best;
      for (int i = 0; i < kTried; ++i) {
        float gain = 0;
        const float divisor = count - 1 + kLevelStep * static_cast<float>(i);
        const GroupScale fitted = refit_both((greatest - least) / divisor, least, gain);
        if (gain <= most) continue;
        most = gain;
        found = fitted;
      }
      use_if_better(found, plain_error, best);
    }
    return best;
  }

  // Of the best scale.
  void write(std::span<int8_t> levels) const {
    for (size_t i = 0; i < levels.size(); ++i) {
      levels[i] = static_cast<int8_t>(levels_.lanes[i / kLanes][i % kLanes]);
    }
  }

 private:
  // Rounds elements, in units of the scale, to the nearest level, ties to even: the constant that
  // is added has no bits below 1.
  Lanes levels_of(Lanes units) const {
    const Lanes lowest = Lanes{} + lowest_, highest = Lanes{} + highest_;
    constexpr float kNoFraction = 0x1.8p23f;
    const Lanes inside = units < lowest ? lowest : (units > highest ? highest : units);
    return (inside + kNoFraction) - kNoFraction;
  }

  float rounded(float number) const {
    return dtype_ == DType::kF16 ? f16_to_f32(f32_to_f16(number)) : number;
  }
  // The minimum is what the lowest level stands for, minus the lowest level's own part.
  GroupScale rounded_pair(float scale, float least) const {
    const float own = rounded(scale);
    return {own, rounded(least - lowest_ * own)};
  }

  // The least-squares scale for the levels of 1 / inverse; `gain` is the reduction of the sum of
  // squares of the elements.
  float refit(float inverse, float& gain) const {
    Lanes products{}, squares{};
    for (size_t i = 0; i < elements_.vectors; ++i) {
      const Lanes element = elements_.lanes[i], level = levels_of(element * inverse);
      products += element * level;
      squares += level * level;
    }
    const float product = sum(products), square = sum(squares);
    gain = square > 0 ? product * product / square : 0;
    return square > 0 ? product / square : 0;
  }

  // The least-squares scale and minimum for the levels of a scale, rounded; `gain` as of refit().
  GroupScale refit_both(float scale, float least, float& gain) const {
    const float minimum = least - lowest_ * scale, inverse = 1 / scale;
    Lanes all{}, levels{}, products{}, squares{};
    for (size_t i = 0; i < elements_.vectors; ++i) {
      const Lanes element = elements_.lanes[i], level = levels_of((element - minimum) * inverse);
      all += element;
      levels += level;
      products += element * level;
      squares += level * level;
    }
    const float s = sum(all), l = sum(levels);
    const float spread = size_ * sum(squares) - l * l;
    if (!(spread > 0)) return rounded_pair(scale, least);
    const float product = sum(products), fitted = (size_ * product - s * l) / spread;
    gain = fitted * product + (s - fitted * l) / size_ * s;
    const float stored = rounded(fitted);
    return {stored, rounded((s - stored * l) / size_)};
  }

  // The levels for stored numbers, and the resulting error.
  float quantize(const GroupScale& of, Group& levels) const {
    Lanes error{};
    for (size_t i = 0; i < elements_.vectors; ++i) {
      const Lanes element = elements_.lanes[i];
      levels.lanes[i] =
          of.scale != 0 ? levels_of((element - of.minimum) / of.scale) : levels_of(Lanes{});
      const Lanes difference = (levels.lanes[i] * of.scale - element) + of.minimum;
      error += difference * difference;
    }
    return sum(error);
  }

  void use_if_better(const GroupScale& candidate, float error, GroupScale& best) {
    if (!std::isfinite(candidate.scale) || !std::isfinite(candidate.minimum)) return;
    Group levels = levels_;
    // Written such that it replaces an error that is not a number.
    if (quantize(candidate, levels) >= error) return;
    best = candidate;
    levels_ = levels;
  }

  DType dtype_;
  float size_, lowest_ = 0, highest_ = 0;
  Group elements_, levels_;
};

}  // namespace

LevelRange level_range(const models::WeightLayout& layout) {
  const int half = 1 << (layout.bits - 1);
  if (layout.has_minimums && !layout.is_whole()) return {0, 2 * half - 1};
  return {-half, half - 1};
}

GroupScale quantize_group(std::span<const float> group, const models::WeightLayout& layout,
                          std::span<int8_t> levels) {
  GroupQuantizer quantizer(group, layout);
  GroupScale best;
  if (layout.has_minimums) {
    const auto [least, greatest] = std::ranges::minmax(group);
    best = quantizer.affine(least, greatest);
  } else {
    // The first one among equal magnitudes.
    best = quantizer.symmetric(
        *std::ranges::max_element(group, {}, [](float element) { return std::fabs(element); }));
  }
  if (std::isfinite(best.scale) && std::isfinite(best.minimum)) quantizer.write(levels);
  // never -0
  return {best.scale == 0 ? 0 : best.scale, best.minimum == 0 ? 0 : best.minimum};
}

}  // namespace tapml::frontend
