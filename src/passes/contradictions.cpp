#include "passes/contradictions.h"

#include <algorithm>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "relax/visit.h"

namespace tapml::passes {

void refuse_contradictions(const Module& module, const std::string& known) {
  using Kind = build::AnnotationFault::Kind;
  const auto fault = build::find_annotation_fault(module);
  if (!fault) return;
  const std::string where = "function " + fault->function +
                            (fault->variable.empty() ? "" : ", binding " + fault->variable);
  if (fault->kind == Kind::kValue) {
    Error error = fault->error;
    if (error.kind == ErrorKind::kUser) error.where = where;
    throw_error(std::move(error));
  }
  const std::string what = fault->kind == Kind::kResult
                               ? "what a function returns is not what it promises"
                               : "a value is not what its annotation says";
  throw_user(what, where, fault->stored, fault->deduced, "this follows from " + known);
}

void refuse_call_contradictions(const Module& module, const std::string& known) {
  const auto calls_program = [](const relax::Function& function) {
    bool found = false;
    relax::visit(function.body,
                 [&](const relax::Expr& expr) { found |= relax::is_call_tir(expr); });
    return found;
  };
  const auto functions = graph_functions(module);
  if (!std::ranges::any_of(functions,
                           [&](const auto& one) { return calls_program(*one.second); })) {
    return;
  }
  for (const analysis::Violation& violation : analysis::find_violations(module)) {
    if (violation.invariant != "R6") continue;
    throw_user("the arguments of a tensor program do not match its parameters",
               "function " + violation.function + ", " + violation.place,
               "tensors as in its signature", violation.message, "this follows from " + known);
  }
}

}  // namespace tapml::passes
