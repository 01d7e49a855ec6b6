// fuse: see primitives.h.
#include "ir/queries.h"
#include "schedule/primitives/primitives.h"
#include "schedule/primitives/site.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

Fuse fuse(const PrimFunc& func, const Var& outer_var, const Var& inner_var) {
  Site site = find_loop(func, outer_var);
  const ForNode& outer = site.loop();
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("fuse", "loops " + outer_var->name + " and " + inner_var->name, reason, hint);
  };
  if (outer.body->kind != StmtKind::kFor || !as<ForNode>(outer.body).var.same_as(inner_var)) {
    no("the second is not the whole body of the first", "name a loop and the one right inside it");
  }
  const auto& inner = as<ForNode>(outer.body);
  for (const ForNode* loop : {&outer, &inner}) {
    if (loop->for_kind == ForKind::kSerial) continue;
    no("loop " + loop->var->name + " is " + for_kind_name(loop->for_kind),
       "fuse before loops are marked");
  }
  if (inner_var.dtype() != outer_var.dtype()) {
    no("their variables have different dtypes", "fuse loops of one dtype");
  }
  if (uses(inner.extent, outer_var)) {
    no("the extent " + to_string(inner.extent) + " uses " + outer_var->name,
       "fuse loops of independent extents");
  }
  Var var = make_var(outer_var->name + "_" + inner_var->name, outer_var.dtype());
  arith::Analyzer analyzer = context(func, site);
  // A nest of 2^63 steps never finishes, so symbolic i64 extents need no proof.
  const bool symbolic =
      var.dtype() == DType::kI64 && !(outer.extent.is_int() && inner.extent.is_int());
  int64_t steps = 0;
  if (!symbolic && (__builtin_mul_overflow(most_steps(outer.extent, analyzer),
                                           most_steps(inner.extent, analyzer), &steps) ||
                    steps > arith::dtype_range(var.dtype()).hi)) {
    no("the product of the extents " + to_string(outer.extent) + " and " + to_string(inner.extent) +
           " does not provably fit " + dtype_name(var.dtype()),
       "fuse loops of fewer steps, or of i64");
  }
  // If the product is nonzero, so is the inner extent.
  PrimExpr extent = analyzer.simplify(outer.extent * inner.extent);
  VarMap values = {{outer_var.get(), floordiv(var, inner.extent)},
                   {inner_var.get(), floormod(var, inner.extent)}};
  if (analyzer.prove_equal(inner.extent, 1)) {
    values = {{outer_var.get(), var}, {inner_var.get(), make_int(0, var.dtype())}};
  } else if (analyzer.prove_equal(outer.extent, 1)) {
    values = {{outer_var.get(), make_int(0, var.dtype())}, {inner_var.get(), var}};
  }
  Stmt body = make_for(var, extent, substitute(inner.body, values));
  return {with_body(func, replace(func.body, site.stmt(), body)), var};
}

}  // namespace tapml::schedule::primitives
