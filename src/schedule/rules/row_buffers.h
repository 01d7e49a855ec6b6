// Where intermediates of programs that run row by row are kept. Private to schedule/.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// Intermediates that take the place of the output which is made of them point by point: what they
// hold never travels to memory beside it. Stages run in order, each row by itself; outputs are the
// parameters of `func` that a caller cannot read before.
void share_output_memory(const tir::PrimFunc& func, StagedProgram& program);

// Intermediates of which a row is small, as local buffers of one row. The first `depth` dimensions
// (of extent 1 aside) of every access are the row. Returns the local buffers.
std::vector<tir::Buffer> keep_rows_local(StagedProgram& program, size_t depth);

}  // namespace tapml::schedule
