// Recognizes attention rows: scores of some positions, the maximum score, exponentials relative to
// it, their sum, and sums of values weighted by them. Such a row can be computed in pieces of its
// positions, with a running maximum and running sums: when the maximum rises from a to b, the sums
// so far are multiplied by exp(a - b) (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018). Private to schedule/.
#pragma once

#include <optional>

#include "schedule/rules/row_stages.h"

namespace tapml::schedule {

// The stages by role. Positions are the last spatial iterator of `scores` and `exps`, and the
// reduction of the others.
struct OnlineSoftmax {
  Stage scores, peak, exps, total, values;
  // Number of positions in a row, as a function of its iterators; further positions contribute
  // nothing to any reduction.
  PrimExpr positions;
};

// nullopt if the stages have another form, if one reads a value that is not available then, or if a
// sum does not scale with the exponentials. `at`: values of the iterators of `space`.
std::optional<OnlineSoftmax> find_online_softmax(const StagedProgram& rows, const RowSpace& space,
                                                 const VarMap& at);

}  // namespace tapml::schedule
