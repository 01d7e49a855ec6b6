// A tensor program as a list of stages: what every schedule rule starts from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::schedule {

// One block of the program, its loops forgotten: what it computes over which iterators.
struct Stage {
  std::string name;
  std::vector<tir::BlockIter> spatial;    // independent points, in order
  std::vector<tir::BlockIter> reduction;  // inside each point, in order

  // Simple: the body is one store. A reduction reads its own element back: `value` holds
  // load(out, indices). Otherwise only `init` and `body` say what happens.
  bool simple = false;
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  PrimExpr value;
  PrimExpr init_value;  // reductions; null without init

  // What is stored in the end: the result itself, or what a folded epilogue makes of
  // load(out, indices).
  tir::Buffer final_out;
  std::vector<PrimExpr> final_indices;
  PrimExpr final_value;

  tir::Stmt init, body;  // as in the block

  bool reduces() const { return !reduction.empty(); }
};

struct StagedProgram {
  std::vector<tir::Buffer> intermediates;
  std::vector<Stage> stages;
};

// Null where the body is not a sequence of blocks with plain loops around each (hand-written or
// already scheduled programs).
std::optional<StagedProgram> find_stages(const tir::PrimFunc& func);

// Substitutes the value of injective producers of intermediates into their consumers; where that
// would repeat costly work (an exp, a division) the intermediate stays.
void inline_producers(StagedProgram& program);

// A pointwise consumer of a reduction's result becomes the reduction's epilogue.
void fold_epilogues(StagedProgram& program);

// Every expression of `stage` with variables replaced.
Stage substitute(const Stage& stage, const VarMap& values);

}  // namespace tapml::schedule
