#include "op/reference/cast.h"

namespace tapml::op::reference {

namespace {

// Rounds toward zero and clamps to the range of the dtype.
double whole_in_range(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  return std::clamp(std::trunc(value), lowest_value(dtype), highest_value(dtype));
}

void to_integer(const RefTensor& x, size_t i, RefTensor& out) {
  if (!is_float(x.dtype)) return put_integer(out, i, x.integer(i), x.bound[i]);
  double value = x.values[i], e = x.bound[i];
  double whole = whole_in_range(value, out.dtype), bound = 0;
  if (e > 0) {
    bound = std::max(std::fabs(whole_in_range(value + e, out.dtype) - whole),
                     std::fabs(whole_in_range(value - e, out.dtype) - whole));
    if (std::isnan(value)) bound = kInfinity;
  }
  put_exact(out, i, whole, bound);
}

}  // namespace

void cast(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  for (size_t i = 0; i < x.values.size(); ++i) {
    double value = x.values[i], e = x.bound[i];
    if (out.dtype == DType::kBool) {
      bool unsure = e > 0 && !(std::fabs(value) > e);
      put_exact(out, i, value != 0 ? 1 : 0, unsure ? 1 : 0);
    } else if (!is_float(out.dtype)) {
      to_integer(x, i, out);
    } else if (is_float(x.dtype)) {
      put_moved(out, i, x, i);
    } else if (std::fabs(value) + e <= 1 / unit_roundoff(out.dtype) && out.dtype != DType::kF16) {
      put_exact(out, i, value, e);
    } else {
      // Two roundings if the conversion goes through f32.
      put(out, i, value, real_bound(x, i, accumulation_dtype(out.dtype)));
    }
  }
}

}  // namespace tapml::op::reference
