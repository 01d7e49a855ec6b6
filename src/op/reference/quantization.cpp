#include "op/reference/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "op/reference/helpers.h"
#include "tensor/packed_levels.h"

namespace tapml::op::reference {

namespace {

// A number of each element of dequantized weights.
enum class Part : uint8_t { kValue, kBound, kSystematic, kDeviation };

struct QuantizedWeights {
  RefTensor packed, scales;
  std::optional<RefTensor> minimums;
  std::vector<double> values;  // of the levels, 16 or 256; empty: themselves
  size_t group;
  int bits;     // of a level; 8: a byte is one
  DType dtype;  // of the result

  bool is_whole() const { return bits == 8; }
  // What is taken from a level that is not whole.
  double zero() const {
    return minimums || !values.empty() ? 0 : static_cast<double>(zero_level(bits));
  }
  size_t columns() const {
    return static_cast<size_t>(scales.shape.empty() ? 1 : scales.shape.back()) * group;
  }
  // The factor of a level.
  double factor(double level) const {
    return values.empty() ? level : values[static_cast<size_t>(level)];
  }
};

template <Part kPart>
class DequantizedElements final : public ComputedElements {
 public:
  explicit DequantizedElements(std::shared_ptr<const QuantizedWeights> weights)
      : weights_(std::move(weights)),
        storage_(weights_->dtype),
        unit_(compute_unit(weights_->dtype)),
        columns_(weights_->columns()),
        all_known_(is_exact(weights_->packed)) {}

  void read(size_t first, size_t stride, size_t count, double* to,
            size_t to_stride) const override {
    if (stride != 1) {
      for (size_t i = 0; i < count; ++i) read_run(first + i * stride, 1, to + i * to_stride, 1);
      return;
    }
    // Rows have whole groups, so an element's place in them needs no row.
    for (size_t done = 0; done < count;) {
      const size_t begin = first + done, left = weights_->group - begin % weights_->group;
      const size_t run = std::min({count - done, left, kLongestRun});
      read_run(begin, run, to + done * to_stride, to_stride);
      done += run;
    }
  }

 private:
  static constexpr size_t kLongestRun = 256, kMostLevels = size_t{1} << kMostLevelBits;

  // What the elements of a group have in common.
  struct Group {
    double scale = 0, minimum = 0;
    Error of_scale, of_minimum;
  };

  Group group_at(size_t index) const {
    Group group{.scale = weights_->scales.values[index],
                .of_scale = error_of(weights_->scales, index)};
    if (weights_->minimums) {
      group.minimum = weights_->minimums->values[index];
      group.of_minimum = error_of(*weights_->minimums, index);
    }
    return group;
  }

  // The part of an element whose level is known to be within a bound. Rounding turned an uncertain
  // level of activations one way or the other at random.
  double part(double level, const Group& group, double bound) const {
    const double factor = weights_->factor(level);
    double value = factor * group.scale;
    Error error = scaled(factor, group.of_scale);
    const auto add_rounding = [&] {
      error.bound += scaled(value, kRoundFactor * unit_);
      error.variance += rounding_variance(unit_, value);
    };
    add_rounding();
    if (weights_->minimums) {
      value += group.minimum;
      error.bound += group.of_minimum.bound;
      error.systematic += group.of_minimum.systematic;
      error.variance += group.of_minimum.variance;
      add_rounding();
    }
    if (bound > 0 && weights_->values.empty()) {
      const double reach = scaled(std::fabs(group.scale) + group.of_scale.bound, bound);
      error.bound += reach;
      error.variance += reach * reach;
    } else if (bound > 0) {
      error = Error::within(kInfinity);
    }
    const Element element = stored(storage_, value, error);
    switch (kPart) {
      case Part::kValue:
        return element.value;
      case Part::kBound:
        return element.error.bound;
      case Part::kSystematic:
        return element.error.systematic;
      case Part::kDeviation:
        return std::sqrt(element.error.variance);
    }
  }

  // Elements of one group.
  void read_run(size_t first, size_t count, double* to, size_t to_stride) const {
    const Group group = group_at(first / weights_->group);
    if (weights_->is_whole()) {
      double levels[kLongestRun];
      weights_->packed.values.read(first, 1, count, levels, 1);
      for (size_t i = 0; i < count; ++i) {
        to[i * to_stride] =
            part(levels[i], group, all_known_ ? 0 : weights_->packed.bound[first + i]);
      }
      return;
    }
    uint8_t levels[kLongestRun];
    bool is_known[kLongestRun];
    unpack(first, count, levels, is_known);
    const double zero = weights_->zero();
    const size_t different = size_t{1} << weights_->bits;
    if (all_known_ && count > different) {
      double parts[kMostLevels];
      for (size_t level = 0; level < different; ++level) {
        parts[level] = part(static_cast<double>(level) - zero, group, 0);
      }
      for (size_t i = 0; i < count; ++i) to[i * to_stride] = parts[levels[i]];
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      to[i * to_stride] =
          part(static_cast<double>(levels[i]) - zero, group, is_known[i] ? 0 : kInfinity);
    }
  }

  // Levels of less than a byte, in one row, and whether all their bits are known.
  void unpack(size_t first, size_t count, uint8_t* levels, bool* is_known) const {
    const auto bits = static_cast<size_t>(weights_->bits);
    const size_t row = first / columns_, column = first % columns_;
    size_t plane_begin = row * (columns_ * bits / 8);
    std::fill_n(levels, count, uint8_t{0});
    std::fill_n(is_known, count, true);
    double bytes[kLongestRun / 2 + 1];
    for (const LevelPlane& plane : level_planes(weights_->bits)) {
      const auto in_byte = static_cast<size_t>(plane.in_byte());
      const size_t begin = plane_begin + column / in_byte;
      const size_t end = plane_begin + (column + count - 1) / in_byte + 1;
      weights_->packed.values.read(begin, 1, end - begin, bytes, 1);
      for (size_t i = 0; i < count; ++i) {
        const size_t at = plane_begin + (column + i) / in_byte;
        const auto byte = static_cast<unsigned>(static_cast<int>(bytes[at - begin]));
        const auto place = static_cast<unsigned>((column + i) % in_byte) * plane.bits;
        const unsigned level = byte >> place & ((1U << plane.bits) - 1);
        levels[i] = static_cast<uint8_t>(levels[i] | level << plane.shift);
        if (!all_known_) is_known[i] = is_known[i] && weights_->packed.bound[at] == 0;
      }
      plane_begin += columns_ / in_byte;
    }
  }

  std::shared_ptr<const QuantizedWeights> weights_;
  Storage storage_;
  double unit_;
  size_t columns_;
  bool all_known_;  // whether every level is exact
};

}  // namespace

namespace {

void expand(QuantizedWeights&& of, RefTensor& out) {
  const auto weights = std::make_shared<const QuantizedWeights>(std::move(of));
  const size_t size = out.values.size();
  out.values = RefValues(std::make_shared<DequantizedElements<Part::kValue>>(weights), size);
  out.bound = RefBounds(std::make_shared<DequantizedElements<Part::kBound>>(weights), size);
  out.systematic =
      RefBounds(std::make_shared<DequantizedElements<Part::kSystematic>>(weights), size);
  out.deviation = RefBounds(std::make_shared<DequantizedElements<Part::kDeviation>>(weights), size);
}

QuantizedWeights weights_of(const AttrMap& attrs, const Args& args, DType dtype) {
  return {.packed = *args[0].tensor,
          .scales = *args[1].tensor,
          .minimums = {},
          .values = {},
          .group = static_cast<size_t>(attr_or<int64_t>(attrs, "group", 32)),
          .bits = args[0].tensor->dtype == DType::kI8
                      ? 8
                      : static_cast<int>(attr_or<int64_t>(attrs, "bits", 4)),
          .dtype = dtype};
}

}  // namespace

void dequantize(const AttrMap& attrs, Args args, Outputs outputs) {
  QuantizedWeights weights = weights_of(attrs, args, outputs[0].dtype);
  if (args.size() > 2) weights.minimums = *args[2].tensor;
  expand(std::move(weights), outputs[0]);
}

void quantize(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  RefTensor &levels = outputs[0], &scales = outputs[1];
  const auto group = static_cast<size_t>(attr_or<int64_t>(attrs, "group", 32));
  const double unit = compute_unit(DType::kF32), factor = division_factor(scales);
  for (size_t g = 0; g < scales.values.size(); ++g) {
    // The largest magnitude is between the largest of the lower ends and that of the upper ones.
    double peak = 0, lower = 0, upper = 0;
    bool is_number = true;
    for (size_t i = g * group; i < (g + 1) * group; ++i) {
      const double magnitude = std::fabs(x.values[i]);
      is_number = is_number && !std::isnan(magnitude);
      peak = std::max(peak, magnitude);
      lower = std::max(lower, magnitude - x.bound[i]);
      upper = std::max(upper, magnitude + x.bound[i]);
    }
    if (!is_number) peak = std::numeric_limits<double>::quiet_NaN();
    const bool is_tiny = peak < kLeastPeak, is_open = std::isnan(upper) || std::isinf(upper);
    const bool is_certain = is_tiny ? upper < kLeastPeak : lower >= kLeastPeak;
    const double scale = is_tiny ? 0 : peak / kLargestLevel;
    Error error =
        Error::within(std::max(upper - peak, peak - lower) / kLargestLevel + factor * unit * scale);
    if (!std::isfinite(peak) || is_tiny) error = {};
    if (!is_certain && std::isfinite(peak)) error = Error::within(upper / kLargestLevel);
    put(scales, g, scale, is_open && std::isfinite(peak) ? Error::within(kInfinity) : error);
    for (size_t i = g * group; i < (g + 1) * group; ++i) {
      if (is_tiny || !std::isfinite(peak)) {
        put_integer(levels, i, 0, is_certain || !std::isfinite(peak) ? 0 : kLargestLevel);
        continue;
      }
      const double share = x.values[i] / scale;
      const double doubt = (x.bound[i] + std::fabs(share) * error.bound) / (scale - error.bound) +
                           2 * factor * unit * std::fabs(share);
      const auto level_of = [](double value) {
        return std::clamp(std::nearbyint(value), -kLargestLevel, kLargestLevel);
      };
      double level = level_of(share);
      // How a model differs whose values, correctly rounded, are on the other side of ties.
      const double past_tie = share - std::floor(share) - 0.5;
      if (levels.products.as_specified && std::fabs(past_tie) < kNearTie) {
        level = level_of(past_tie < 0 ? std::ceil(share) : std::floor(share));
      }
      double bound = std::max(level_of(share + doubt) - level, level - level_of(share - doubt));
      if (!is_certain || scale <= error.bound || std::isnan(bound)) bound = 2 * kLargestLevel;
      put_integer(levels, i, static_cast<int64_t>(level), bound);
    }
  }
}

void dequantize_float(const AttrMap& attrs, Args args, Outputs outputs) {
  QuantizedWeights weights = weights_of(attrs, args, outputs[0].dtype);
  const bool is_byte = attr_or<std::string>(attrs, "format", "") == "e4m3";
  const int bits = is_byte ? 8 : 4, mantissa_bits = is_byte ? 3 : 1, bias = is_byte ? 7 : 1;
  const int sign = 1 << (bits - 1), implicit = 1 << mantissa_bits;
  weights.bits = bits;
  for (int code = 0; code < 2 * sign; ++code) {
    const int exponent = code % sign / implicit, mantissa = code % implicit;
    const double value = exponent == 0
                             ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                             : std::ldexp(implicit + mantissa, exponent - bias - mantissa_bits);
    weights.values.push_back(code < sign ? value : -value);
  }
  expand(std::move(weights), outputs[0]);
}

void dequantize_table(const AttrMap& attrs, Args args, Outputs outputs) {
  QuantizedWeights weights = weights_of(attrs, args, outputs[0].dtype);
  for (const double value : attr_or<std::vector<double>>(attrs, "values", {})) {
    weights.values.push_back(static_cast<float>(value));
  }
  expand(std::move(weights), outputs[0]);
}

}  // namespace tapml::op::reference
