#include "op/reference/normalization.h"

#include "op/reference/repetition.h"

namespace tapml::op::reference {

namespace {

// A number and its error bound.
struct Measured {
  double value, error;
};

Measured measured(const RefTensor& tensor, size_t i) { return {tensor.values[i], tensor.bound[i]}; }
Element element(const RefTensor& tensor, size_t i) {
  return {tensor.values[i], error_of(tensor, i)};
}

// 1 / sqrt(variance + epsilon), where the sum is at least `least`, with the error factor `root`.
Measured inverse_root(Measured variance, double epsilon, double least, double unit, double root) {
  double sum = variance.value + epsilon;
  least = std::max(least, sum - variance.error - kRoundFactor * unit * sum);
  double value = 1 / std::sqrt(sum);
  if (least <= 0 || std::isinf(variance.error)) return {value, kInfinity};
  return {value, 1 / std::sqrt(least) - value + root * unit * value};
}

// (x - mean) * scale * weight + bias. The errors of mean and scale are systematic: many elements
// share them.
void put_affine(RefTensor& out, size_t i, const Element& x, Measured mean, Measured scale,
                const Element& weight, const Element& bias, double unit) {
  const double distance = x.value - mean.value;
  const double product = distance * scale.value * weight.value;
  const double y = product + bias.value;
  if (std::isinf(scale.error)) return put(out, i, y, Error::open());
  const auto beyond = [&](double of_distance, double of_weight) {
    return (std::fabs(distance) + of_distance) * (std::fabs(scale.value) + scale.error) *
               (std::fabs(weight.value) + of_weight) -
           std::fabs(product);
  };
  const double off = x.error.bound + mean.error + kRoundFactor * unit * std::fabs(distance);
  const double s = scale.value * weight.value, d = distance * scale.value;
  const double random = (x.error.variance + rounding_variance(unit, distance)) * s * s +
                        weight.error.variance * d * d + bias.error.variance +
                        2 * rounding_variance(unit, product) + rounding_variance(unit, y);
  put(out, i, y,
      {beyond(off, weight.error.bound) + bias.error.bound +
           kRoundFactor * unit * (2 * std::fabs(product) + std::fabs(y)),
       beyond(x.error.systematic + mean.error, weight.error.systematic) + bias.error.systematic,
       random});
}

// Normalizes elements by the moments of their group; both functions take an element's index.
template <class Group, class Parameter>
void normalize(const AttrMap& attrs, Args args, Outputs outputs, size_t groups, Group&& group_of,
               Parameter&& parameter_of) {
  const RefTensor &x = *args[0].tensor, &weight = *args[1].tensor, &bias = *args[2].tensor;
  double unit = compute_unit(x.dtype), epsilon = attr_or(attrs, "epsilon", 1e-5);
  std::vector<Sample> samples(groups);
  for (size_t i = 0; i < x.values.size(); ++i) samples[group_of(i)].add(x, i);
  std::vector<Measured> means, scales;
  for (const Sample& sample : samples) {
    const Moments m = moments_of(sample, {unit, division_factor(outputs[0])});
    means.push_back({m.mean.value, m.mean.error.bound});
    // Rounding never makes a sum of squares negative.
    scales.push_back(inverse_root({m.variance.value, m.variance.error.bound}, epsilon, epsilon / 2,
                                  unit, root_factor(outputs[0])));
  }
  for (size_t i = 0; i < x.values.size(); ++i) {
    size_t g = group_of(i), p = parameter_of(i);
    put_affine(outputs[0], i, element(x, i), means[g], scales[g], element(weight, p),
               element(bias, p), unit);
  }
}

// Number of elements of dimensions [first, last).
size_t span_of(const Shape& shape, size_t first, size_t last) {
  size_t count = 1;
  for (size_t d = first; d < last; ++d) count *= static_cast<size_t>(shape[d]);
  return count;
}

// Normalizes groups of `width` adjacent channels of x [n, c, ...].
void by_channels(const AttrMap& attrs, Args args, Outputs outputs, size_t width) {
  const Shape& shape = args[0].tensor->shape;
  size_t inner = span_of(shape, 2, shape.size()), channels = static_cast<size_t>(shape[1]);
  size_t size = width * inner;
  if (size == 0) return;  // there are no elements
  size_t groups = span_of(shape, 0, shape.size()) / size;
  normalize(
      attrs, args, outputs, groups, [&](size_t i) { return i / size; },
      [&](size_t i) { return i / inner % channels; });
}

}  // namespace

void rms_norm(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &weight = *args[1].tensor;
  double unit = compute_unit(x.dtype);
  double epsilon = attr_or(attrs, "epsilon", 1e-5);
  size_t width = weight.values.size();
  size_t rows = width == 0 ? 0 : x.values.size() / width;
  auto count = static_cast<double>(width);
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row * width;
    double squares = 0;
    Error moved;
    SumRounding rounding;
    Repetition repeated;
    for (size_t j = 0; j < width; ++j) {
      const double value = x.values[at + j];
      const Error error = error_of(x, at + j);
      squares += value * value;
      rounding.add(value * value);
      repeated.add(value * value);
      moved.systematic += (2 * std::fabs(value) + error.systematic) * error.systematic;
      moved.variance += 4 * value * value * error.variance + error.variance * error.variance;
    }
    double mean = squares / count + epsilon;
    // The row shares this error, so its random part counts as systematic.
    double mean_error =
        Error::of(moved.systematic, moved.variance + rounding.variance(unit, repeated.factor()))
                .bound /
            count +
        (division_factor(outputs[0]) + kRoundFactor) * unit * mean;
    const bool is_open = overflows(squares + count * mean_error, unit);
    double scale = 1 / std::sqrt(mean);
    double least = std::max(mean - mean_error, std::max(epsilon / 2, 0x1p-126));
    double scale_error = 1 / std::sqrt(least) - scale + root_factor(outputs[0]) * unit * scale;
    for (size_t j = 0; j < width; ++j) {
      const double value = x.values[at + j], w = weight.values[j];
      const Error ex = error_of(x, at + j), ew = error_of(weight, j);
      double y = value * scale * w;
      auto beyond = [&](double x_error, double w_error) {
        return (std::fabs(value) + x_error) * (scale + scale_error) * (std::fabs(w) + w_error) -
               std::fabs(y);
      };
      const double random = ex.variance * scale * scale * w * w +
                            ew.variance * value * value * scale * scale +
                            2 * rounding_variance(unit, y);
      if (is_open) {
        put(outputs[0], at + j, y, Error::open());
        continue;
      }
      put(outputs[0], at + j, y,
          {beyond(ex.bound, ew.bound) + scaled(y, 2 * kRoundFactor * unit),
           beyond(ex.systematic, ew.systematic), random});
    }
  }
}

void softmax(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  AxisView view(x.shape, attr_or<int64_t>(attrs, "axis", -1));
  double unit = compute_unit(x.dtype);
  std::vector<double> values(view.extent);
  std::vector<Error> errors(view.extent);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      for (size_t k = 0; k < view.extent; ++k) {
        values[k] = x.values[view.at(o, k, i)];
        errors[k] = error_of(x, view.at(o, k, i));
      }
      const Error shared = softmax_row(values, errors, unit, division_factor(outputs[0]));
      for (size_t k = 0; k < view.extent; ++k) {
        errors[k].systematic += values[k] * shared.bound;
        put(outputs[0], view.at(o, k, i), values[k], errors[k]);
      }
    }
  }
}

// (x - max) - log(sum exp(x - max)): large elements cancel in the difference. An infinite largest
// element gives NaN, as in PyTorch.
void log_softmax(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  AxisView view(x.shape, attr_or<int64_t>(attrs, "axis", -1));
  double unit = compute_unit(x.dtype);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      Sample sample;
      for (size_t k = 0; k < view.extent; ++k) sample.add(x, view.at(o, k, i));
      const LogSum sum = log_sum_of(sample, unit);
      const bool is_number = std::isfinite(sum.peak);
      for (size_t k = 0; k < view.extent; ++k) {
        const double shifted = is_number ? sample.values[k] - sum.peak : std::nan("");
        const double y = shifted - sum.log_total;
        const double rounding = std::fabs(shifted) + std::fabs(y);
        const Error& own = sample.errors[k];
        // The row shares the errors of the logarithm, so their random part is systematic.
        put(outputs[0], view.at(o, k, i), y,
            {own.bound + sum.moved.bound + sum.error.bound + scaled(rounding, kRoundFactor * unit),
             own.systematic + sum.moved.bound + sum.error.bound,
             own.variance + rounding_variance(unit, shifted) + rounding_variance(unit, y)});
      }
    }
  }
}

void layer_norm(const AttrMap& attrs, Args args, Outputs outputs) {
  size_t size = args[1].tensor->values.size();
  if (size == 0) return;  // there are no elements
  size_t groups = args[0].tensor->values.size() / size;
  normalize(
      attrs, args, outputs, groups, [&](size_t i) { return i / size; },
      [&](size_t i) { return i % size; });
}

void group_norm(const AttrMap& attrs, Args args, Outputs outputs) {
  auto groups = static_cast<size_t>(*find_attr<int64_t>(attrs, "groups"));
  by_channels(attrs, args, outputs, static_cast<size_t>(args[0].tensor->shape[1]) / groups);
}

void instance_norm(const AttrMap& attrs, Args args, Outputs outputs) {
  by_channels(attrs, args, outputs, 1);
}

void batch_norm(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  double unit = compute_unit(x.dtype), epsilon = attr_or(attrs, "epsilon", 1e-5);
  size_t inner = span_of(x.shape, 2, x.shape.size()), channels = static_cast<size_t>(x.shape[1]);
  for (size_t i = 0; i < x.values.size(); ++i) {
    size_t c = i / inner % channels;
    const Measured scale =
        inverse_root(measured(*args[4].tensor, c), epsilon, 0, unit, root_factor(outputs[0]));
    put_affine(outputs[0], i, element(x, i), measured(*args[3].tensor, c), scale,
               element(*args[1].tensor, c), element(*args[2].tensor, c), unit);
  }
}

}  // namespace tapml::op::reference
