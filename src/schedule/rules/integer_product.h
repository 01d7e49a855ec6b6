// Products of quantized activations with quantized weights. Private to schedule/.
#pragma once

#include <optional>
#include <vector>

#include "schedule/rules/panels.h"

namespace tapml::schedule {

// out[rows..., lane] += (level * scale) * (weight level * weight scale [+ minimum]), where both
// sides have the same groups of k.
struct IntegerProduct {
  // Activations: levels[..., k] in i8 and scales[..., k // group]; the indices depend on the rows.
  PrimExpr level, scale;
  // The level of a weight at [lane, k]: an element of i8, or bits of bytes in i32, from 0 to 15 or
  // to 255 (`is_whole`), of which `zero` is subtracted. scales[lane, k // group], and perhaps
  // minimums.
  PrimExpr weight;
  bool is_whole = false, is_signed = false;
  int64_t zero = 0;
  tir::Buffer scales, minimums;
  int64_t group = 0;
  Var step;  // k
  std::vector<tir::BlockIter> rows;
  tir::BlockIter lane;
};

// nullopt if the stage has another form, or if a group has no whole words of four bytes.
std::optional<IntegerProduct> find_integer_product(const Stage& stage,
                                                   const std::vector<tir::Buffer>& weights);

}  // namespace tapml::schedule
