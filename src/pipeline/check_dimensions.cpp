#include "pipeline/check_dimensions.h"

#include <functional>

#include "arith/evaluate.h"
#include "ir/exceptions.h"
#include "relax/visit.h"
#include "text/printer.h"
#include "tir/prim_func.h"

namespace tapml::pipeline {

namespace {

using relax::Annotation;

bool divides_by_zero(const PrimExpr& e) {
  bool found = false;
  visit_expr(e, [&](const PrimExpr& node) {
    const bool divides = node.kind() == ExprKind::kFloorDiv || node.kind() == ExprKind::kFloorMod;
    if (!divides || !free_vars(node.operand(1)).empty()) return;
    found |= arith::evaluate(node.operand(1), {}).value_or(1) == 0;
  });
  return found;
}

// Throws if `dim` is invalid; `where` is called only then.
void check_dimension(const PrimExpr& dim, const std::string& of,
                     const std::function<std::string()>& where) {
  if (divides_by_zero(dim)) {
    throw_user("a dimension of " + of + " divides by zero", where(), "a divisor that is not 0",
               text::print(dim));
  }
  if (!free_vars(dim).empty()) return;
  const std::optional<int64_t> value = arith::evaluate(dim, {});
  if (!value || *value >= 0) return;
  throw_user("a dimension of " + of + " is negative", where(), "0 or more", std::to_string(*value));
}

void check_annotation(const Annotation& annotation, const std::string& of,
                      const std::function<std::string()>& where) {
  if (const auto* tensor = relax::as_tensor(annotation)) {
    if (!tensor->shape) return;
    for (const PrimExpr& dim : *tensor->shape) check_dimension(dim, of, where);
  } else if (const auto* tuple = relax::as_tuple(annotation)) {
    for (const Annotation& field : tuple->fields) check_annotation(field, of, where);
  } else if (const auto* callable = relax::as_callable(annotation)) {
    for (const Annotation& param : callable->params) check_annotation(param, of, where);
    check_annotation(callable->result, of, where);
  }
}

}  // namespace

void check_dimensions(const Module& module, const std::string& source,
                      const text::SourceMap* places) {
  for (const auto& [name, function] : module.functions) {
    if (const auto* prim = tir::as_prim_func(function.get())) {
      for (const tir::Param& param : prim->params) {
        for (const PrimExpr& dim : param.buffer->shape) {
          check_dimension(dim, "buffer " + param.buffer->name,
                          [&] { return places ? places->function(name) : source; });
        }
      }
      continue;
    }
    const auto* graph = relax::as_relax_function(function.get());
    auto check = [&](const relax::Variable& var) {
      check_annotation(var->annotation, "'" + var->name + "'", [&] {
        return places ? places->annotation(name, var->name) : source + ", function " + name;
      });
    };
    for (const relax::Variable& param : graph->params) check(param);
    relax::visit_bindings(graph->body, [&](const relax::Binding& binding, bool) {
      check(binding.var);
      if (!binding.match_cast) return;
      check_annotation(binding.match_cast, "the match_cast of '" + binding.var->name + "'", [&] {
        return places ? places->value(name, binding.var->name) : source + ", function " + name;
      });
    });
    check_annotation(graph->result, "the result of @" + name,
                     [&] { return places ? places->result(name) : source; });
  }
}

}  // namespace tapml::pipeline
