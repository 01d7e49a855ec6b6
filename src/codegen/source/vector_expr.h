// Four lanes of an expression as one vector expression: f32 arithmetic, extrema, comparisons, and
// branchless selects. Everything else in it is computed lane by lane.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "codegen/source/dialect.h"

namespace tapml::codegen {

// The emitter's information about lanes.
struct VectorLanes {
  Var lane;
  // Vectors that are already loaded, by load.
  const std::map<const ExprNode*, std::string>& loaded;
  // Text of an expression that is uniform across lanes, and of each lane of one that is not.
  std::function<std::string(const PrimExpr&)> common;
  std::function<std::vector<std::string>(const PrimExpr&)> each;
  // Names a vector of such elements that is used more than once.
  std::function<std::string(const std::string& text, DType dtype)> name;
};

// `expr` has 32-bit elements; the dialect has vectors(). Both branches of a select are computed if
// neither reads anything new; otherwise each lane branches.
std::string vector_expr(const PrimExpr& expr, const VectorLanes& lanes, const Dialect& dialect);

}  // namespace tapml::codegen
