// Four lanes of an expression as one expression of vectors: arithmetic of f32, extrema,
// comparisons, and selects without branches. What else is in it is computed lane by lane.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "codegen/source/dialect.h"

namespace tapml::codegen {

// What the emitter has to say of the lanes.
struct VectorLanes {
  Var lane;
  // Vectors that loads have been read into, by the load.
  const std::map<const ExprNode*, std::string>& loaded;
  // Text of an expression that is the same for all lanes, and of each lane of one that is not.
  std::function<std::string(const PrimExpr&)> common;
  std::function<std::vector<std::string>(const PrimExpr&)> each;
  // A name for a vector of such elements that is used more than once.
  std::function<std::string(const std::string& text, DType dtype)> name;
};

// `expr` is of 32 bits an element; the dialect has vectors(). Both sides of a select are computed
// where neither reads what has not been read before; else each lane has a branch.
std::string vector_expr(const PrimExpr& expr, const VectorLanes& lanes, const Dialect& dialect);

}  // namespace tapml::codegen
