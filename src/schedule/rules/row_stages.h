// Programs whose stages share their leading iterators: rows. Private to schedule/.
#pragma once

#include <optional>

#include "schedule/stage.h"

namespace tapml::schedule {

// The iterators of a program's rows: no row touches another's intermediates.
using RowSpace = std::vector<tir::BlockIter>;

// The deepest space of rows of two stages or more; their row iterators then stand first, in its
// order. None, and the program stays as it is, where there is no such space or a row would read
// what another writes in place.
std::optional<RowSpace> bring_rows_first(StagedProgram& program);

// Values of the row iterators of `stage`, given those of the space.
VarMap at_row(const Stage& stage, const RowSpace& space, const VarMap& row);

}  // namespace tapml::schedule
