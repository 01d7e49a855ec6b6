#include "op/reference/resize.h"

#include <algorithm>

#include "op/reference/helpers.h"

namespace tapml::op::reference {

namespace {

// The elements that one output index reads along a dimension, with their weights.
struct Blend {
  int64_t first = 0, second = 0;
  double weight = 0;  // of the second element
};

Blend blend_at(const std::string& mode, bool nearest, int64_t o, int64_t in, int64_t out) {
  // Twice the position, as a fraction of integers, so it is never rounded.
  int64_t numerator = 2 * o * in, denominator = out;
  if (mode == "half_pixel") numerator = (2 * o + 1) * in - out;
  if (mode == "align_corners") {
    numerator = 2 * o * (in - 1);
    denominator = std::max<int64_t>(out - 1, 1);
  }
  denominator *= 2;
  Blend blend;
  if (nearest) {
    int64_t shifted = mode == "asymmetric" ? numerator : numerator + denominator / 2;
    blend.first = blend.second = shifted / denominator;
    return blend;
  }
  numerator = std::max<int64_t>(numerator, 0);
  blend.first = numerator / denominator;
  blend.second = std::min(blend.first + 1, in - 1);
  blend.weight = static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
  return blend;
}

std::vector<Blend> blends_along(const AttrMap& attrs, int64_t in, int64_t out) {
  std::string mode = attr_or(attrs, "coordinates", std::string("half_pixel"));
  bool nearest = attr_or(attrs, "method", std::string("nearest")) == "nearest";
  std::vector<Blend> blends;
  for (int64_t o = 0; o < out; ++o) blends.push_back(blend_at(mode, nearest, o, in, out));
  return blends;
}

// What computing weights may do to them. Elements of a row, a column or a plane share weights, and
// so their errors.
struct WeightError {
  double quotient;    // relative, of a weight strictly between 0 and 1
  double difference;  // relative, of 1 minus a weight
  double bound;       // absolute, of both: numbers up to 1
  double unit;        // round-off of products and sums
};
WeightError weight_error(const RefTensor& out, double unit) {
  return {division_factor(out) * unit, unit, (division_factor(out) + 1) * unit, unit};
}

// How far an interpolation between two values moves by the errors of its weights, which are those
// of a quotient w and of 1 - w: errors of w itself move the result along the values' difference.
double moved_by_weights(double first, double second, double weight, const WeightError& off) {
  if (weight == 0) return 0;
  return scaled(second - first, off.quotient * weight) +
         scaled(first, off.difference * (1 - weight));
}

// The blend of the four elements of a plane that starts at element `plane` of x.
Element blended(const RefTensor& x, size_t plane, int64_t width, const Blend& row,
                const Blend& column, const WeightError& off) {
  struct Corner {
    size_t element;
    double weight, value;
  };
  Corner corners[4];
  for (size_t i = 0; i < 4; ++i) {
    const bool lower = i >= 2, right = i % 2 != 0;
    const int64_t at =
        (lower ? row.second : row.first) * width + (right ? column.second : column.first);
    corners[i].element = plane + static_cast<size_t>(at);
    corners[i].weight =
        (lower ? row.weight : 1 - row.weight) * (right ? column.weight : 1 - column.weight);
    corners[i].value = x.values[corners[i].element];
  }
  Element result;
  Error& error = result.error;
  double sum = 0;  // of magnitudes
  for (size_t i = 0; i < 4; ++i) {
    const auto& [element, weight, value] = corners[i];
    // A weight of 0 removes the element, unless it is infinite or NaN.
    result.value += weight * value;
    const Error own = error_of(x, element);
    const double wy = i >= 2 ? row.weight : 1 - row.weight;
    const double wx = i % 2 != 0 ? column.weight : 1 - column.weight;
    const double ey = row.weight > 0 ? off.bound : 0, ex = column.weight > 0 ? off.bound : 0;
    const double magnitude = std::fabs(value) + own.bound, term = std::fabs(weight * value);
    error.bound += scaled(weight, own.bound) + scaled(magnitude, ey * (wx + ex) + ex * wy) +
                   scaled(magnitude, kMathFactor * off.unit * weight);
    // Products of two weights are rounded, if they are computed first.
    error.systematic += scaled(weight, own.systematic) + off.unit * term;
    // At the end of a dimension, two corners are one element.
    double same = 0;
    for (const Corner& other : corners) same += other.element == element ? other.weight : 0;
    // Neighbors may round the same numbers, so each rounding counts as the largest.
    error.variance += scaled(weight * same, own.variance) + off.unit * off.unit * term * term;
    sum += term;
  }
  error.variance += 3 * off.unit * off.unit * sum * sum;
  const double top = corners[0].value + (corners[1].value - corners[0].value) * column.weight;
  const double bottom = corners[2].value + (corners[3].value - corners[2].value) * column.weight;
  error.systematic +=
      moved_by_weights(top, bottom, row.weight, off) +
      (1 - row.weight) * moved_by_weights(corners[0].value, corners[1].value, column.weight, off) +
      row.weight * moved_by_weights(corners[2].value, corners[3].value, column.weight, off);
  return result;
}

}  // namespace

void resize(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  int64_t height = x.shape[2], width = x.shape[3];
  // An image without elements gives 0.
  if (height == 0 || width == 0) return;
  std::vector<Blend> rows = blends_along(attrs, height, out.shape[2]);
  std::vector<Blend> columns = blends_along(attrs, width, out.shape[3]);
  bool nearest = attr_or(attrs, "method", std::string("nearest")) == "nearest";
  double unit = compute_unit(x.dtype);
  size_t at = 0;
  for (int64_t plane = 0; plane < out.shape[0] * out.shape[1]; ++plane) {
    for (const Blend& row : rows) {
      for (const Blend& column : columns) {
        auto element = [&](int64_t r, int64_t c) {
          return static_cast<size_t>((plane * height + r) * width + c);
        };
        if (nearest) {
          put_moved(out, at++, x, element(row.first, column.first));
          continue;
        }
        const auto [value, error] = blended(x, static_cast<size_t>(plane * height * width), width,
                                            row, column, weight_error(out, unit));
        put(out, at++, value, error);
      }
    }
  }
}

}  // namespace tapml::op::reference
