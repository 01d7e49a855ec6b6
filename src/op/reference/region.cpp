// References of the operators that extract and update regions.
#include <algorithm>

#include "op/reference/arrange.h"
#include "op/reference/coordinates.h"

namespace tapml::op::reference {

namespace {

// Starts of a window of `size` in a tensor of `shape`.
Coordinates starts_of(const RefTensor& starts, const Shape& shape, const Shape& size) {
  Coordinates result;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t start = std::min(starts.integer(d), shape[d] - size[d]);
    result.push_back(std::max<int64_t>(0, start));
  }
  return result;
}

}  // namespace

void strided_slice(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  const auto &axes = ints(attrs, "axes"), &strides = ints(attrs, "strides");
  size_t rank = x.shape.size(), cut = args[1].ints.size();
  Coordinates first(rank, 0), step(rank, 1);
  for (size_t a = 0; a < cut; ++a) {
    size_t axis = axes.empty() ? a : counted_from_front(axes[a], rank);
    int64_t extent = x.shape[axis], begin = args[1].ints[a];
    step[axis] = strides.empty() ? 1 : strides[a];
    if (begin < 0) begin = std::max<int64_t>(begin, -extent - 1) + extent;
    first[axis] = step[axis] > 0 ? std::clamp<int64_t>(begin, 0, extent)
                                 : std::clamp<int64_t>(begin, -1, extent - 1);
  }
  each_element(outputs[0].shape, [&](size_t element, const Coordinates& at) {
    Coordinates from(rank);
    for (size_t d = 0; d < rank; ++d) from[d] = first[d] + at[d] * step[d];
    put_moved(outputs[0], element, x, element_at(x.shape, from));
  });
}

void dynamic_slice(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &starts = *args[1].tensor;
  Coordinates first = starts_of(starts, x.shape, outputs[0].shape);
  each_element(outputs[0].shape, [&](size_t element, Coordinates at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] += first[d];
    put_moved(outputs[0], element, x, element_at(x.shape, at));
  });
  if (!is_exact(starts)) open_all(outputs[0]);
}

void dynamic_update_slice(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &x = *args[0].tensor, &update = *args[1].tensor, &starts = *args[2].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) put_moved(outputs[0], i, x, i);
  Coordinates first = starts_of(starts, x.shape, update.shape);
  each_element(update.shape, [&](size_t element, Coordinates at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] += first[d];
    put_moved(outputs[0], element_at(x.shape, at), update, element);
  });
  if (!is_exact(starts)) open_all(outputs[0]);
}

void pad(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  const auto& widths = ints(attrs, "widths");
  const std::string& mode = *find_attr<std::string>(attrs, "mode");
  RefTensor filler = RefTensor::zeros(x.dtype, {1});
  HostTensor rounded = HostTensor::zeros(x.dtype, {1});
  double value = *find_attr<double>(attrs, "value");
  rounded.set_f64(0, is_float(x.dtype) ? value : std::trunc(value));
  filler = RefTensor::from(rounded);
  each_element(outputs[0].shape, [&](size_t element, Coordinates at) {
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t extent = x.shape[d];
      at[d] -= widths[2 * d];
      if (at[d] >= 0 && at[d] < extent) continue;
      if (mode == "constant" || extent == 0) {
        inside = false;
      } else if (mode == "edge") {
        at[d] = at[d] < 0 ? 0 : extent - 1;
      } else if (mode == "circular") {
        at[d] = wrapped(at[d], extent);
      } else {
        while (extent > 1 && (at[d] < 0 || at[d] >= extent)) {
          at[d] = at[d] < 0 ? -at[d] : 2 * (extent - 1) - at[d];
        }
        if (extent == 1) at[d] = 0;
      }
    }
    if (inside) {
      put_moved(outputs[0], element, x, element_at(x.shape, at));
    } else {
      put_moved(outputs[0], element, filler, 0);
    }
  });
}

void depth_to_space(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  int64_t block = *find_attr<int64_t>(attrs, "block");
  bool depth_first = *find_attr<bool>(attrs, "depth_first");
  int64_t channels = outputs[0].shape[1];
  each_element(x.shape, [&](size_t element, const Coordinates& at) {
    int64_t cell = depth_first ? at[1] / channels : at[1] % (block * block);
    int64_t channel = depth_first ? at[1] % channels : at[1] / (block * block);
    Coordinates to = {at[0], channel, at[2] * block + cell / block, at[3] * block + cell % block};
    put_moved(outputs[0], element_at(outputs[0].shape, to), x, element);
  });
}

void space_to_depth(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  int64_t block = *find_attr<int64_t>(attrs, "block");
  each_element(x.shape, [&](size_t element, const Coordinates& at) {
    int64_t cell = (at[2] % block) * block + at[3] % block;
    Coordinates to = {at[0], cell * x.shape[1] + at[1], at[2] / block, at[3] / block};
    put_moved(outputs[0], element_at(outputs[0].shape, to), x, element);
  });
}

}  // namespace tapml::op::reference
