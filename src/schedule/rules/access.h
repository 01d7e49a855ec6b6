// How the addresses of a stage's loads change with its iterators. Private to schedule/.
#pragma once

#include <optional>

#include "schedule/stage.h"

namespace tapml::schedule {

// How much an index changes per step of a variable; nullopt if that is not constant.
std::optional<int64_t> stride_of(const PrimExpr& index, const Var& var);

// Whether adjacent values of `var` access adjacent elements, or the same one, in every load of the
// stage, and adjacent ones in at least one.
bool runs_along(const Stage& stage, const Var& var);

}  // namespace tapml::schedule
