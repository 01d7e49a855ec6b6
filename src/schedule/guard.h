// Iterations that contribute nothing, found from the selects that say so.
#pragma once

#include <optional>

#include "schedule/stage.h"

namespace tapml::schedule {

// `stage` with reductions that end where the rest adds nothing: out + select(r < limit, x, 0) runs
// to `limit` and adds x. The same for a maximum or minimum whose other side is its initial value.
// Values are the same, bit for bit.
Stage without_idle_steps(const Stage& stage);

// Last spatial iterator of a stage, cut in two where a select of its value changes sides.
struct Split {
  PrimExpr limit;  // points of the first part, from 0 to the iterator's extent
  Stage below;     // for values below the limit
  Stage rest;      // for the others
};
std::optional<Split> split_last_iterator(const Stage& stage);

}  // namespace tapml::schedule
