// Storage of intermediates in programs that run row by row. Private to schedule/.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// Stores intermediates in the memory of the output that is computed from them point by point, which
// avoids extra memory traffic. Stages run in order, each row independently; outputs are the
// parameters of `func` that a caller cannot read earlier.
void share_output_memory(const tir::PrimFunc& func, StagedProgram& program);

struct RowMemory {
  tir::Scope scope = tir::Scope::kLocal;
  int64_t each = 0;              // bytes of one buffer
  int64_t together = 1LL << 40;  // of all
};

// Size of a buffer of constant shape in memory close to the processor, where each value takes a
// register's width; 0 if the shape is not constant.
int64_t scratch_bytes(const tir::Buffer& buffer);

// Shrinks intermediates with small rows to buffers of one row in `memory`. The first `depth`
// dimensions (not counting those of extent 1) of every access are the row. Returns the new buffers.
std::vector<tir::Buffer> keep_rows(StagedProgram& program, size_t depth, const RowMemory& memory);

}  // namespace tapml::schedule
