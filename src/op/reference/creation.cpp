#include "op/reference/creation.h"

namespace tapml::op::reference {

namespace {

void fill(RefTensor& out, double value) {
  for (size_t i = 0; i < out.values.size(); ++i) put_exact(out, i, value, 0);
}

// Keeps the elements whose column is at least (upper) or at most row + k.
void triangle(const AttrMap& attrs, Args args, Outputs outputs, bool upper) {
  const RefTensor& x = *args[0].tensor;
  int64_t k = attr_or<int64_t>(attrs, "k", 0);
  int64_t columns = x.shape[x.shape.size() - 1], rows = x.shape[x.shape.size() - 2];
  for (size_t i = 0; i < x.values.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    int64_t above = at % columns - at / columns % rows;
    bool kept = upper ? above >= k : above <= k;
    if (kept) put_moved(outputs[0], i, x, i);
  }
}

}  // namespace

void arange(const AttrMap& attrs, Args args, Outputs outputs) {
  RefTensor& out = outputs[0];
  int64_t step = attr_or<int64_t>(attrs, "step", 1), value = args[0].ints.at(0);
  for (size_t i = 0; i < out.values.size(); ++i, value += step) {
    if (is_float(out.dtype)) {
      auto number = static_cast<double>(value);
      bool exact = std::fabs(number) * unit_roundoff(out.dtype) < 0.5;
      exact ? put_exact(out, i, number, 0)
            : put(out, i, number, kRoundFactor * compute_unit(out.dtype) * std::fabs(number));
    } else {
      put_integer(out, i, value);
    }
  }
}

void eye(const AttrMap& attrs, Args args, Outputs outputs) {
  RefTensor& out = outputs[0];
  int64_t rows = args[0].ints.at(0), columns = args[1].ints.at(0);
  int64_t k = attr_or<int64_t>(attrs, "k", 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t column = row + k;
    if (column < 0 || column >= columns) continue;
    put_exact(out, static_cast<size_t>(row * columns + column), 1, 0);
  }
}

void tril(const AttrMap& attrs, Args args, Outputs outputs) {
  triangle(attrs, args, outputs, false);
}
void triu(const AttrMap& attrs, Args args, Outputs outputs) {
  triangle(attrs, args, outputs, true);
}
void zeros_like(const AttrMap&, Args, Outputs outputs) { fill(outputs[0], 0); }
void ones_like(const AttrMap&, Args, Outputs outputs) { fill(outputs[0], 1); }

void copy(const AttrMap&, Args args, Outputs outputs) {
  for (size_t i = 0; i < outputs[0].values.size(); ++i) {
    put_moved(outputs[0], i, *args[0].tensor, i);
  }
}

// Makes no tensor: the deduced dimensions are the result.
void shape_of(const AttrMap&, Args, Outputs) {}

}  // namespace tapml::op::reference
