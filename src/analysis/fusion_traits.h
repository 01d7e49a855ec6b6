// Properties of a tensor program that the cost model of fusion uses, from its loops alone.
#pragma once

#include <vector>

#include "analysis/pattern_kind.h"
#include "tir/prim_func.h"

namespace tapml::analysis {

// How one evaluation of a program's value reads one of its inputs.
struct InputReads {
  bool own = false;       // at the output's own index, in a tensor of its shape
  int remote_target = 0;  // at how many other indices
  int loads = 0;          // in the source; several may be at one index
};

struct FusionTraits {
  PatternKind kind = PatternKind::kOpaque;
  std::vector<InputReads> inputs;  // by input parameter, in order
  // Float operations of one evaluation; a division or math function counts as much as it costs on
  // processors that have no instruction for it.
  double operations = 0;
  // Whether it contains operations that no schedule computes twice (a division, a math function).
  bool costly = false;
  int nodes = 0;  // size of the value's expression; math counts as its lowered form
  // Evaluations of the value, reduction included, over the program's scalars.
  PrimExpr points;
};

// For opaque programs, everything except the kind is zero.
FusionTraits fusion_traits(const tir::PrimFunc& func);

}  // namespace tapml::analysis
