#include "op/reference/resize.h"

#include <algorithm>

#include "op/reference/helpers.h"

namespace tapml::op::reference {

namespace {

// The elements that one output index reads along a dimension, with their weights; computing a
// weight strictly between 0 and 1 rounds it.
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
        double value = 0, error = 0;
        for (int corner = 0; corner < 4; ++corner) {
          bool lower = corner >= 2, right = corner % 2 != 0;
          size_t e = element(lower ? row.second : row.first, right ? column.second : column.first);
          double wy = lower ? row.weight : 1 - row.weight;
          double wx = right ? column.weight : 1 - column.weight;
          // A quotient and its difference from 1: three roundings of numbers up to 1.
          double ey = row.weight > 0 ? 3 * unit : 0, ex = column.weight > 0 ? 3 * unit : 0;
          double magnitude = std::fabs(x.values[e]) + x.bound[e];
          double off = ey * (wx + ex) + ex * wy;
          // A weight of 0 removes the element, unless it is infinite or NaN.
          value += wy * wx * x.values[e];
          error += wy * wx * x.bound[e] + scaled(magnitude, off) +
                   scaled(magnitude, kMathFactor * unit * wy * wx);
        }
        put(out, at++, value, error);
      }
    }
  }
}

}  // namespace tapml::op::reference
