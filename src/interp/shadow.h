// Running error bounds of tensor programs: every float that a program computes in its own dtypes
// has a shadow with its value in f64 and a bound on how far a correct implementation may be from
// that.
#pragma once

#include <cmath>
#include <limits>
#include <memory>

#include "ir/expr.h"

namespace tapml::interp {

struct Frame;
class ExprCompiler;

// A value as the reference sees it. `moved` bounds the effect of the operands' own errors and
// single roundings; the roundings of a sum behave like a random walk, so their squares are kept
// separately, with the sum of the terms' magnitudes as their scale (docs/verdicts.md).
struct Shadow {
  double value = 0;
  double moved = 0;
  double squared_rounding = 0;
  double magnitude = 0;

  double bound() const;
  static Shadow exact(double value) { return {value, 0, 0, std::fabs(value)}; }
  static Shadow unknown(double value) {
    return {value, std::numeric_limits<double>::infinity(), 0, std::fabs(value)};
  }
};

struct ShadowCode {
  virtual ~ShadowCode() = default;
  virtual Shadow run(Frame& frame) const = 0;
};
using ShadowPtr = std::unique_ptr<ShadowCode>;

// Whether an integer or a truth value might differ within the bounds of the floats that it is
// computed from.
struct DoubtCode {
  virtual ~DoubtCode() = default;
  virtual bool run(Frame& frame) const = 0;
};
using DoubtPtr = std::unique_ptr<DoubtCode>;

// Shadow of a float expression.
ShadowPtr compile_shadow(ExprCompiler& compiler, const PrimExpr& expr);
// Doubt about an integer or bool expression; null if there can be none.
DoubtPtr compile_doubt(ExprCompiler& compiler, const PrimExpr& expr);

}  // namespace tapml::interp
