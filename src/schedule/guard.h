// Finds and skips iterations that contribute nothing, based on selects.
#pragma once

#include <optional>

#include "schedule/stage.h"

namespace tapml::schedule {

// `stage` with reductions that stop where the remaining steps contribute nothing: out + select(r <
// limit, x, 0) runs to `limit` and adds x; likewise a maximum or minimum whose other operand is its
// initial value. Results are bit-identical.
Stage without_idle_steps(const Stage& stage);

// The last spatial iterator of a stage, split where a select on it changes branches.
struct Split {
  PrimExpr limit;  // number of points of the first part, from 0 to the iterator's extent
  Stage below;     // for values below the limit
  Stage rest;      // for the others
};
std::optional<Split> split_last_iterator(const Stage& stage);

}  // namespace tapml::schedule
