#include "build/pattern_builder.h"

#include "build/pattern.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

Variable PatternBuilder::any(const std::string& name, Annotation annotation) {
  params_.push_back(make_variable(name, std::move(annotation)));
  return params_.back();
}

void PatternBuilder::require(const std::string& name, PrimExpr condition) {
  params_.push_back(make_variable(name, prim_annotation(DType::kBool, std::move(condition))));
}

Variable PatternBuilder::op(const std::string& operators, std::vector<Expr> args, AttrMap attrs,
                            Annotation annotation) {
  Variable var = make_variable(operators.substr(0, operators.find('|')), std::move(annotation),
                               /*dataflow=*/true);
  calls_.push_back({var, make_op_call(operators, std::move(args), std::move(attrs)), nullptr, {}});
  return var;
}

FunctionRef PatternBuilder::finish(AttrMap attrs) {
  Expr result = make_tuple({});
  if (!calls_.empty()) {
    // The block's output, which no call uses.
    const Variable& last = calls_.back().var;
    calls_.back().var = make_variable(last->name, last->annotation);
    result = calls_.back().var;
  }
  attrs["pattern"] = true;
  return make_function(std::move(params_), make_seq({{true, std::move(calls_)}}, result),
                       object_annotation(), std::move(attrs));
}

}  // namespace tapml::build
