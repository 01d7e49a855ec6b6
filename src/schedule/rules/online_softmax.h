// Rows whose stages are scores of some positions, the largest score, exponentials relative to it,
// their sum, and sums of values that they weigh: attention. Such a row can be computed piece by
// piece of its positions, with the maximum and the sums so far: where the maximum rises from a to
// b, what was summed before is multiplied by exp(a - b) (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018). Private to schedule/.
#pragma once

#include <optional>

#include "schedule/rules/row_stages.h"

namespace tapml::schedule {

// The stages by what they are for. Positions are the last spatial iterator of `scores` and `exps`,
// and the reduction of the others.
struct OnlineSoftmax {
  Stage scores, peak, exps, total, values;
  // How many positions a row has, in terms of the values of its iterators; others add nothing to
  // any reduction.
  PrimExpr positions;
};

// None where the stages are others, where one reads what it may not, or where a sum would not be
// scaled by what scales the exponentials. `at`: values of the iterators of `space`.
std::optional<OnlineSoftmax> find_online_softmax(const StagedProgram& rows, const RowSpace& space,
                                                 const VarMap& at);

}  // namespace tapml::schedule
