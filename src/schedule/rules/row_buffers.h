// Where intermediates of programs that run row by row are kept. Private to schedule/.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// Intermediates that take the place of the output which is made of them point by point: what they
// hold never travels to memory beside it. Stages run in order, each row by itself; outputs are the
// parameters of `func` that a caller cannot read before.
void share_output_memory(const tir::PrimFunc& func, StagedProgram& program);

struct RowMemory {
  tir::Scope scope = tir::Scope::kLocal;
  int64_t each = 0;              // bytes of one buffer
  int64_t together = 1LL << 40;  // of all
};

// Bytes of a buffer of constant shape below device memory, where a value has a register's width; 0
// where the shape is not constant.
int64_t scratch_bytes(const tir::Buffer& buffer);

// Intermediates of which a row is small, as buffers of one row in `memory`. The first `depth`
// dimensions (of extent 1 aside) of every access are the row. Returns the new buffers.
std::vector<tir::Buffer> keep_rows(StagedProgram& program, size_t depth, const RowMemory& memory);

}  // namespace tapml::schedule
