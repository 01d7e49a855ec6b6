// What the judge computes with: tensors of f64 values, each with a bound on how far a correct
// implementation in the program's dtypes may be from it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "abi/attributes.h"
#include "tensor/host_tensor.h"

namespace tapml::op {

// `values[i]` is the exact-as-f64-allows element; `bound[i]` >= 0 bounds |implementation - value|
// over correct implementations whose inputs are already off by their own bounds. Integer and bool
// tensors have bound 0 unless a discrete choice (argmax) is ambiguous within its inputs' bounds.
struct RefTensor {
  DType dtype = DType::kF32;  // of the program, not of `values`
  Shape shape;
  std::vector<double> values;
  std::vector<double> bound;
  // One flag an element, or empty: every element counts. Costly references leave elements out that
  // nobody wants; their values mean nothing.
  std::vector<uint8_t> wanted;

  bool wants(size_t element) const { return wanted.empty() || wanted[element] != 0; }

  static RefTensor zeros(DType dtype, Shape shape);
  // Exact inputs: bound 0.
  static RefTensor from(const HostTensor& tensor);
  // Values rounded to dtype.
  HostTensor to_host() const;
};

// One argument of an operator call at evaluation time: a tensor (tuples of tensors flattened; not
// null for tensor arguments), or the integers of a shape value or prim value.
struct RefArg {
  const RefTensor* tensor = nullptr;
  std::vector<int64_t> ints;
};

// The constants of the error rules (shared/verdict reasoning in docs/verdicts.md).
//   sum of K terms:  kSumFactor * u_acc * sqrt(K) * sum |term|
//   any result:      kRoundFactor * u_out * |value|
inline constexpr double kSumFactor = 8;
inline constexpr double kRoundFactor = 2;

// `accumulation` is the type that sums are kept in (f32 for narrower floats).
DType accumulation_dtype(DType dtype);

}  // namespace tapml::op
