// What a cost of fusion needs to know of a tensor program, from its loops alone.
#pragma once

#include <vector>

#include "analysis/pattern_kind.h"
#include "tir/prim_func.h"

namespace tapml::analysis {

// How one evaluation of a program's value reads one of its inputs.
struct InputReads {
  bool own = false;       // at the output's own index, in a tensor of its shape
  int remote_target = 0;  // at how many other indices
  int loads = 0;          // as they are written; several may be at one index
};

struct FusionTraits {
  PatternKind kind = PatternKind::kOpaque;
  std::vector<InputReads> inputs;  // by input parameter, in order
  // Of one evaluation: arithmetic on floats, where a division or a function of math counts for what
  // it takes on processors that have no instruction for it.
  double operations = 0;
  // Holds what no schedule computes twice (a division, a function of math).
  bool costly = false;
  int nodes = 0;  // size of the value's expression; math counts as what it is lowered to
  // Evaluations of the value, reduction included, over the program's scalars.
  PrimExpr points;
};

// All zero but the kind for programs that are opaque.
FusionTraits fusion_traits(const tir::PrimFunc& func);

}  // namespace tapml::analysis
