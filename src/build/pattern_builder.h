// Patterns (build/pattern.h) built in C++: the function that their text form parses to.
#pragma once

#include <string>
#include <vector>

#include "relax/expr.h"

namespace tapml::build {

// Usage:
//   Var n = make_var("n");
//   PatternBuilder p;
//   Variable x = p.any("x", tensor_annotation({n, 4}, DType::kF32));
//   p.require("large", le(64, n));
//   p.op("silu|gelu", {p.op("matmul", {x, p.any("w")}, {{"transpose_b", true}})});
//   module.functions["gated"] = p.finish();
// A pattern that can match nothing is built too; check_pattern rejects it.
class PatternBuilder {
 public:
  // A parameter, which matches any value that certainly has the annotation.
  relax::Variable any(const std::string& name,
                      relax::Annotation annotation = relax::object_annotation());
  // A condition over the symbolic variables of the annotations.
  void require(const std::string& name, PrimExpr condition);
  // A call of one of the operators, joined by '|', with at least these attributes. The variable is
  // named after the first.
  relax::Variable op(const std::string& operators, std::vector<relax::Expr> args,
                     AttrMap attrs = {}, relax::Annotation annotation = relax::object_annotation());
  // Returns the pattern, whose value is that of the last call. `attrs` are attributes besides
  // `pattern`, e.g. the library routine (library/choose.h).
  relax::FunctionRef finish(AttrMap attrs = {});

 private:
  std::vector<relax::Variable> params_;
  std::vector<relax::Binding> calls_;
};

}  // namespace tapml::build
