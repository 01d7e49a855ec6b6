// Programs whose stages share leading iterators, called rows. Private to schedule/.
#pragma once

#include <optional>

#include "schedule/stage.h"

namespace tapml::schedule {

// The iterators of a program's rows; no row accesses another row's intermediates.
using RowSpace = std::vector<tir::BlockIter>;

// Finds the deepest row space of two stages or more and moves its iterators to the front, in its
// order. Returns nullopt and leaves the program unchanged if there is none or a row would read what
// another writes in place.
std::optional<RowSpace> bring_rows_first(StagedProgram& program);

// Values of the row iterators of `stage`, given those of the row space.
VarMap at_row(const Stage& stage, const RowSpace& space, const VarMap& row);

}  // namespace tapml::schedule
