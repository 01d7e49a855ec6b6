// References of the operators that move elements.
#include <algorithm>

#include "ir/exceptions.h"
#include "op/reference/helpers.h"

namespace tapml::op::reference {

namespace {

size_t front_axis(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// Copies the elements of x at base + index . strides, over the output's index space.
void gather(const RefTensor& x, RefTensor& out, const std::vector<int64_t>& strides, int64_t base) {
  walk(out.shape, strides, base, [&](size_t i, size_t j) { put_moved(out, i, x, j); });
}

}  // namespace

void reshape(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  outputs[0].values = x.values;
  outputs[0].bound = x.bound;
  outputs[0].systematic = x.systematic;
  outputs[0].deviation = x.deviation;
  outputs[0].integers = x.integers;
}

void permute(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  std::vector<int64_t> own = row_major_strides(x.shape), strides;
  for (int64_t axis : *find_attr<std::vector<int64_t>>(attrs, "axes")) {
    strides.push_back(own[front_axis(axis, own.size())]);
  }
  gather(x, outputs[0], strides, 0);
}

void concat(const AttrMap& attrs, Args args, Outputs outputs) {
  RefTensor& out = outputs[0];
  AxisView whole(out.shape, *find_attr<int64_t>(attrs, "axis"));
  size_t start = 0;
  for (const RefArg& arg : args) {
    const RefTensor& x = *arg.tensor;
    AxisView part(x.shape, *find_attr<int64_t>(attrs, "axis"));
    for (size_t o = 0; o < part.outer; ++o) {
      for (size_t k = 0; k < part.extent; ++k) {
        for (size_t i = 0; i < part.inner; ++i) {
          put_moved(out, whole.at(o, start + k, i), x, part.at(o, k, i));
        }
      }
    }
    start += part.extent;
  }
}

void split(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  size_t axis = front_axis(*find_attr<int64_t>(attrs, "axis"), x.shape.size());
  std::vector<int64_t> strides = row_major_strides(x.shape);
  int64_t start = 0;
  for (RefTensor& out : outputs) {
    gather(x, out, strides, start * strides[axis]);
    start += out.shape[axis];
  }
}

void slice(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  std::vector<int64_t> strides = row_major_strides(x.shape);
  const auto& axes = *find_attr<std::vector<int64_t>>(attrs, "axes");
  const auto& steps = *find_attr<std::vector<int64_t>>(attrs, "strides");
  int64_t base = 0;
  for (size_t a = 0; a < args[1].ints.size(); ++a) {
    size_t axis = axes.empty() ? a : front_axis(axes[a], x.shape.size());
    int64_t begin = args[1].ints[a], end = args[2].ints[a];
    if (begin < 0 || begin > end || end > x.shape[axis]) {
      throw_user("slice: the range of axis " + std::to_string(axis) + " is outside the tensor", "",
                 "0 <= begin <= end <= " + std::to_string(x.shape[axis]),
                 std::to_string(begin) + " to " + std::to_string(end));
    }
    base += begin * strides[axis];
    if (!steps.empty()) strides[axis] *= steps[a];
  }
  gather(x, outputs[0], strides, base);
}

void full(const AttrMap& attrs, Args, Outputs outputs) {
  RefTensor& out = outputs[0];
  double value = *find_attr<double>(attrs, "value");
  if (!is_float(out.dtype)) value = std::trunc(value);
  // The constant is part of the program, so every platform rounds it once, to nearest.
  HostTensor rounded = HostTensor::zeros(out.dtype, {1});
  rounded.set_f64(0, value);
  for (size_t i = 0; i < out.values.size(); ++i) put_exact(out, i, rounded.at_f64(0), 0);
}

}  // namespace tapml::op::reference
