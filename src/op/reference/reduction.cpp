// References of reductions and of the operators built on them.
#include <algorithm>

#include "op/reference/helpers.h"

namespace tapml::op::reference {

namespace {

// For each element of x, the output element that it is reduced into.
std::vector<size_t> reduction_targets(const AttrMap& attrs, const Shape& shape) {
  auto rank = static_cast<int64_t>(shape.size());
  std::vector<bool> reduced(shape.size(), false);
  const auto* axes = find_attr<std::vector<int64_t>>(attrs, "axes");
  if (axes == nullptr || axes->empty()) {
    reduced.assign(shape.size(), true);
  } else {
    for (int64_t axis : *axes) reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (reduced[d]) continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  std::vector<size_t> targets(static_cast<size_t>(element_count(shape)));
  walk(shape, strides, 0, [&](size_t i, size_t j) { targets[i] = j; });
  return targets;
}

void add_up(const AttrMap& attrs, Args args, Outputs outputs, bool average) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  std::vector<size_t> targets = reduction_targets(attrs, x.shape);
  std::vector<double> values(out.values.size()), errors(values), magnitudes(values);
  for (size_t i = 0; i < targets.size(); ++i) {
    size_t t = targets[i];
    values[t] += x.values[i];
    errors[t] += x.bound[i];
    magnitudes[t] += std::fabs(x.values[i]) + x.bound[i];
  }
  size_t count = values.empty() ? 0 : targets.size() / values.size();
  double unit = compute_unit(x.dtype);
  for (size_t t = 0; t < values.size(); ++t) {
    double error = errors[t] + sum_error(unit, count, magnitudes[t]);
    double value = values[t];
    if (average) {
      value /= static_cast<double>(count);
      error = error / static_cast<double>(count) + scaled(value, kMathFactor * unit);
    }
    put(out, t, value, error);
  }
}

double lowest_value(DType dtype) {
  if (is_float(dtype)) return -kInfinity;
  return is_unsigned_integer(dtype) ? 0 : -std::ldexp(1.0, dtype_bits(dtype) - 1);
}

}  // namespace

void sum(const AttrMap& attrs, Args args, Outputs outputs) { add_up(attrs, args, outputs, false); }
void mean(const AttrMap& attrs, Args args, Outputs outputs) { add_up(attrs, args, outputs, true); }

void max(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  std::vector<size_t> targets = reduction_targets(attrs, x.shape);
  double low = lowest_value(x.dtype);
  std::vector<double> least(out.values.size(), low), most(least), value(least);
  std::vector<bool> unknown(out.values.size(), false);
  for (size_t i = 0; i < targets.size(); ++i) {
    size_t t = targets[i];
    value[t] = std::max(value[t], x.values[i]);
    least[t] = std::max(least[t], x.values[i] - x.bound[i]);
    most[t] = std::max(most[t], x.values[i] + x.bound[i]);
    if (std::isnan(x.values[i])) unknown[t] = true;
  }
  for (size_t t = 0; t < value.size(); ++t) {
    bool settled = least[t] == most[t];
    double bound = settled ? 0 : std::max(most[t] - value[t], value[t] - least[t]);
    put_exact(out, t, value[t], unknown[t] ? kInfinity : bound);
  }
}

void argmax(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  AxisView view(x.shape, attr_or<int64_t>(attrs, "axis", -1));
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      size_t best = 0;
      bool unknown = false;
      for (size_t k = 0; k < view.extent; ++k) {
        double value = x.values[view.at(o, k, i)];
        unknown |= std::isnan(value);
        if (value > x.values[view.at(o, best, i)]) best = k;
      }
      size_t at = view.at(o, best, i);
      size_t reach = unknown ? view.extent : 0;
      for (size_t k = 0; k < view.extent && !unknown; ++k) {
        size_t other = view.at(o, k, i);
        double slack = x.bound[at] + x.bound[other];
        if (k == best || slack == 0 || x.values[at] - x.values[other] > slack) continue;
        reach = std::max(reach, k > best ? k - best : best - k);
      }
      put_exact(outputs[0], o * view.inner + i, static_cast<double>(best),
                static_cast<double>(reach));
    }
  }
}

void rms_norm(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &weight = *args[1].tensor;
  double unit = compute_unit(x.dtype);
  double epsilon = attr_or(attrs, "epsilon", 1e-5);
  size_t width = weight.values.size();
  size_t rows = width == 0 ? 0 : x.values.size() / width;
  auto count = static_cast<double>(width);
  for (size_t row = 0; row < rows; ++row) {
    const double* value = x.values.data() + row * width;
    const double* bound = x.bound.data() + row * width;
    double squares = 0, reach = 0;
    for (size_t j = 0; j < width; ++j) {
      double most = std::fabs(value[j]) + bound[j];
      squares += value[j] * value[j];
      reach += most * most;
    }
    double mean = squares / count + epsilon;
    double mean_error = (reach - squares + sum_error(unit, width, reach)) / count +
                        (kMathFactor + kRoundFactor) * unit * mean;
    double scale = 1 / std::sqrt(mean);
    double least = std::max(mean - mean_error, std::max(epsilon / 2, 0x1p-126));
    double scale_error = 1 / std::sqrt(least) - scale + kMathFactor * unit * scale;
    for (size_t j = 0; j < width; ++j) {
      double y = value[j] * scale * weight.values[j];
      double most = (std::fabs(value[j]) + bound[j]) * (scale + scale_error) *
                    (std::fabs(weight.values[j]) + weight.bound[j]);
      double error = most - std::fabs(y) + scaled(y, 2 * kRoundFactor * unit);
      put(outputs[0], row * width + j, y, error);
    }
  }
}

void softmax(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  AxisView view(x.shape, attr_or<int64_t>(attrs, "axis", -1));
  double unit = compute_unit(x.dtype);
  std::vector<double> values(view.extent), errors(view.extent);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      for (size_t k = 0; k < view.extent; ++k) {
        values[k] = x.values[view.at(o, k, i)];
        errors[k] = x.bound[view.at(o, k, i)];
      }
      softmax_row(values, errors, unit);
      for (size_t k = 0; k < view.extent; ++k) {
        put(outputs[0], view.at(o, k, i), values[k], errors[k]);
      }
    }
  }
}

}  // namespace tapml::op::reference
