#include "op/reference/quantization.h"

#include "op/reference/helpers.h"

namespace tapml::op::reference {

void dequantize(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &packed = *args[0].tensor, &scales = *args[1].tensor;
  RefTensor& out = outputs[0];
  const auto group = static_cast<size_t>(attr_or<int64_t>(attrs, "group", 32));
  const auto columns = static_cast<size_t>(out.shape.back());
  for (size_t i = 0; i < out.values.size(); ++i) {
    const size_t row = i / columns, column = i % columns;
    const size_t at = row * (columns / 2) + column / 2;
    const size_t scale = row * (columns / group) + column / group;
    const int64_t byte = packed.integer(at);
    const double level =
        static_cast<double>((column % 2 == 0 ? byte : byte >> 4) & 15) - kQuantizedZero;
    const double value = level * scales.values[scale];
    const double unit = compute_unit(out.dtype);
    Error error = scaled(level, error_of(scales, scale));
    error.bound += scaled(value, kRoundFactor * unit);
    error.variance += rounding_variance(unit, value);
    if (packed.bound[at] > 0) error = Error::within(kInfinity);  // any other nibble
    put(out, i, value, error);
  }
}

}  // namespace tapml::op::reference
