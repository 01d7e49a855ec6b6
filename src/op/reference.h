// Tensors of the reference: f64 values, each with a bound on how far a correct implementation in
// the program's dtypes may be from it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "abi/allowances.h"
#include "abi/attributes.h"
#include "op/product_rounding.h"
#include "op/ref_elements.h"
#include "tensor/host_tensor.h"

namespace tapml {
class ThreadPool;
}

namespace tapml::op {

// A flag of RefTensor::wanted: the element was drawn at random, not chosen by its error.
inline constexpr uint8_t kRandomlyWanted = 2;

// `values[i]` is the exact-as-f64-allows element; `bound[i]` >= 0 bounds |implementation - value|
// over correct implementations whose inputs are already off by their own bounds. Integer and bool
// tensors have bound 0 unless a discrete choice (argmax) is ambiguous within its inputs' bounds.
struct RefTensor {
  DType dtype = DType::kF32;  // the program's dtype, not that of `values`
  Shape shape;
  RefValues values;
  RefBounds bound;
  // The two parts of an honest error: `systematic[i]` bounds what many elements may share or what
  // always has one sign (a function's ULPs); the rest is random, with mean 0 and a standard
  // deviation of at most `deviation[i]`. Both are empty where only the bound is known.
  RefBounds systematic, deviation;
  // Of how many other elements, at most, an element shares its random errors, and itself: running
  // sums have those of all sums before them. 1: the elements' errors are independent.
  size_t correlated = 1;
  // For i64 and u64 tensors, the exact elements (two's complement bits), which a double cannot
  // hold; `values` are the rounded elements. Empty for other dtypes.
  std::vector<int64_t> integers;
  // One flag per element; if empty, every element counts. Costly references skip elements that are
  // not wanted (0); their values have no meaning.
  std::vector<uint8_t> wanted;
  // Of a result: how the operator that computes it shall round its products. Exact, but where a
  // cause of imprecision is tried.
  ProductRounding products;
  // Of a result: what an implementation of the operator may do besides honest rounding. Its errors
  // have it.
  Allowances allowed;
  // Of a result: the threads that the operator may use; null: the calling one alone. The result is
  // the same. Outlives the operator's evaluation.
  ThreadPool* threads = nullptr;

  // Element of an integer or bool tensor, exactly (two's complement bits for u64).
  int64_t integer(size_t element) const {
    return integers.empty() ? static_cast<int64_t>(values[element]) : integers[element];
  }
  // Sets an element of an integer or bool tensor: `value` wrapped to the dtype's width.
  void set_integer(size_t element, int64_t value);
  // Sets an element to a value that the dtype holds, or to the nearest integer it holds.
  void set_value(size_t element, double value);

  bool wants(size_t element) const { return wanted.empty() || wanted[element] != 0; }

  double systematic_at(size_t element) const {
    return systematic.empty() ? bound[element] : systematic[element];
  }

  static RefTensor zeros(DType dtype, Shape shape);
  // Exact inputs: bound 0. The bytes must not change during its lifetime.
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

// The constants of the error rules (docs/verdicts.md).
//   random part:  kTails standard deviations
//   any result:   kRoundFactor * u_out * |value|
inline constexpr double kTails = 8;
inline constexpr double kRoundFactor = 2;

// The type in which sums are accumulated (f32 for narrower floats).
DType accumulation_dtype(DType dtype);

}  // namespace tapml::op
