#include "op/reference/logic.h"

namespace tapml::op::reference {

namespace {

template <class F>
void combine(Args args, Outputs outputs, F&& f) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  walk_pairs(args, outputs[0], [&](size_t i, size_t j, size_t k) {
    Truth x(a, j), y(b, k);
    bool value = f(x.value, y.value);
    bool unsure = (x.unsure && f(!x.value, y.value) != value) ||
                  (y.unsure && f(x.value, !y.value) != value) ||
                  (x.unsure && y.unsure && f(!x.value, !y.value) != value);
    put_exact(outputs[0], i, value, unsure ? 1 : 0);
  });
}

// Whether the shift amount is negative or at least the width.
bool too_far(int64_t amount, DType dtype) {
  return static_cast<uint64_t>(amount) >= static_cast<uint64_t>(dtype_bits(dtype));
}

}  // namespace

void logical_and(const AttrMap&, Args args, Outputs outputs) {
  combine(args, outputs, [](bool a, bool b) { return a && b; });
}
void logical_or(const AttrMap&, Args args, Outputs outputs) {
  combine(args, outputs, [](bool a, bool b) { return a || b; });
}
void logical_xor(const AttrMap&, Args args, Outputs outputs) {
  combine(args, outputs, [](bool a, bool b) { return a != b; });
}
void logical_not(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) {
    Truth truth(x, i);
    put_exact(outputs[0], i, !truth.value, truth.unsure ? 1 : 0);
  }
}

void bitwise_and(const AttrMap&, Args args, Outputs outputs) {
  zip_integers(args, outputs, [](int64_t a, int64_t b, DType) { return a & b; });
}
void bitwise_or(const AttrMap&, Args args, Outputs outputs) {
  zip_integers(args, outputs, [](int64_t a, int64_t b, DType) { return a | b; });
}
void bitwise_xor(const AttrMap&, Args args, Outputs outputs) {
  zip_integers(args, outputs, [](int64_t a, int64_t b, DType) { return a ^ b; });
}
void bitwise_not(const AttrMap&, Args args, Outputs outputs) {
  map_integers(args, outputs,
               [](int64_t x, DType dtype) { return dtype == DType::kBool ? int64_t{x == 0} : ~x; });
}

void left_shift(const AttrMap&, Args args, Outputs outputs) {
  zip_integers(args, outputs, [](int64_t a, int64_t b, DType dtype) -> int64_t {
    return too_far(b, dtype) ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  });
}
void right_shift(const AttrMap&, Args args, Outputs outputs) {
  zip_integers(args, outputs, [](int64_t a, int64_t b, DType dtype) -> int64_t {
    if (is_signed_integer(dtype)) return a >> (too_far(b, dtype) ? 63 : b);
    return too_far(b, dtype) ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
  });
}

}  // namespace tapml::op::reference
