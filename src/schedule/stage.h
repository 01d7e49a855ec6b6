// A tensor program as a list of stages: the input of every schedule rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::schedule {

// One block of the program without its loops: what it computes over which iterators.
struct Stage {
  std::string name;
  std::vector<tir::BlockIter> spatial;    // independent points, in order
  std::vector<tir::BlockIter> reduction;  // inside each point, in order

  // Whether the body is a single store. A reduction reads its own element: `value` contains
  // load(out, indices). For other bodies, use `init` and `body`.
  bool simple = false;
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  PrimExpr value;
  PrimExpr init_value;  // for reductions; null without init

  // What is finally stored: the result, or a folded epilogue's function of load(out, indices).
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

// nullopt if the body is not a sequence of blocks in plain loops (hand-written or already scheduled
// programs).
std::optional<StagedProgram> find_stages(const tir::PrimFunc& func);

// Inlines injective producers of intermediates into their consumers, unless that would repeat
// costly work (an exp, a division).
void inline_producers(StagedProgram& program);

// Folds a pointwise consumer of a reduction's result into the reduction as its epilogue.
void fold_epilogues(StagedProgram& program);

// `stage` with variables replaced in every expression.
Stage substitute(const Stage& stage, const VarMap& values);

}  // namespace tapml::schedule
