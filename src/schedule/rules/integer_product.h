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
  // Weights packed[lane, k] in i8, or packed[lane, k // 2] in u8 with the first of two neighbors in
  // the low half; scales[lane, k // group] and perhaps minimums.
  tir::Buffer packed, scales, minimums;
  bool is_whole = false;  // a byte is a level
  int64_t zero = 0;       // what is subtracted from a nibble
  int64_t group = 0;
  std::vector<tir::BlockIter> rows;
  tir::BlockIter lane;
};

// nullopt if the stage has another form, or if a group has no whole words of four bytes.
std::optional<IntegerProduct> find_integer_product(const Stage& stage,
                                                   const std::vector<tir::Buffer>& weights);

}  // namespace tapml::schedule
