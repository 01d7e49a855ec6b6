// How a stage's loads move with its iterators. Private to schedule/.
#pragma once

#include <optional>

#include "schedule/stage.h"

namespace tapml::schedule {

// How an index moves with a variable; null where that is not constant.
std::optional<int64_t> stride_of(const PrimExpr& index, const Var& var);

// Whether neighbours in `var` are neighbours in memory, or the same element, for everything that
// the stage loads, and neighbours for some of it.
bool runs_along(const Stage& stage, const Var& var);

}  // namespace tapml::schedule
