// What a suspected cause of imprecision, or an allowance, does to the products of an operator:
// their operands, their terms or their partial sums are rounded to a narrower format, as matrix
// units do.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace tapml::op {

enum class ProductFormat : uint8_t { kExact, kF16, kBF16, kTF32, kTF32Truncated };

struct ProductRounding {
  ProductFormat first = ProductFormat::kExact;   // the first operand: activations, queries
  ProductFormat second = ProductFormat::kExact;  // the second operand: weights, keys, values
  ProductFormat terms = ProductFormat::kExact;
  ProductFormat sums = ProductFormat::kExact;  // after each term, in sequence
  // Sums are rounded where the operator's attribute `accumulation` says so, and levels of quantized
  // activations near a tie to the other side.
  bool as_specified = false;

  bool is_exact() const {
    return first == ProductFormat::kExact && second == ProductFormat::kExact &&
           terms == ProductFormat::kExact && sums == ProductFormat::kExact;
  }
};

// `value` in the format. TF32 has 10 bits after the point and the range of f32.
double rounded(ProductFormat format, double value);
// The format to which elements of `dtype` are rounded: exact for a dtype that is not finer.
ProductFormat format_of(ProductFormat format, DType dtype);

}  // namespace tapml::op
