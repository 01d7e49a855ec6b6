#include "build/annotations.h"
#include "build/block_builder.h"
#include "build/pattern.h"
#include "ir/exceptions.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

Annotation annotation_of_value(const Expr& value, const Module& module) {
  if (const auto* call = as<CallNode>(value)) return deduce_call(*call, module);
  if (const auto* seq = as<SeqNode>(value)) return annotation_of_value(seq->result, module);
  if (const auto* branch = as<IfNode>(value)) {
    return join(annotation_of_value(branch->then_branch, module),
                annotation_of_value(branch->else_branch, module));
  }
  if (const auto* lambda = as<FunctionNode>(value)) {
    std::vector<Annotation> params;
    for (const Variable& param : lambda->function->params) params.push_back(param->annotation);
    return callable_annotation(std::move(params), lambda->function->result, lambda->function->pure);
  }
  return annotation_of(value);
}

std::optional<AnnotationFault> find_annotation_fault(const Module& module) {
  std::optional<AnnotationFault> fault;
  for (const auto& [name, base] : module.functions) {
    const auto* function = as_relax_function(base.get());
    if (!function || is_pattern(function)) continue;  // a pattern says as much as it wants to
    auto compare = [&](AnnotationFault::Kind kind, const std::string& variable,
                       const Annotation& stored, const Annotation& deduced) {
      if (fault || compatible(stored, deduced)) return;
      fault = {kind, name, variable, {}, to_string(stored), to_string(deduced)};
    };
    visit_bindings(function->body, [&](const Binding& binding, bool) {
      if (fault) return;
      const std::string& variable = binding.var->name;
      Annotation deduced;
      try {
        deduced = annotation_of_value(binding.value, module);
      } catch (const CompilerException& e) {
        fault = {AnnotationFault::Kind::kValue, name, variable, e.error(), "", ""};
        return;
      }
      const Annotation& stored = binding.var->annotation;
      if (binding.match_cast) {
        compare(AnnotationFault::Kind::kAnnotation, variable, stored, binding.match_cast);
      }
      compare(AnnotationFault::Kind::kAnnotation, variable, stored, deduced);
    });
    if (fault) return fault;
    compare(AnnotationFault::Kind::kResult, "", function->result,
            annotation_of_value(function->body, module));
    if (fault) return fault;
  }
  return fault;
}

void check_annotations(const Module& module, const std::string& after_pass) {
  const std::optional<AnnotationFault> fault = find_annotation_fault(module);
  if (!fault) return;
  const std::string suffix = after_pass.empty() ? "" : " after pass " + after_pass;
  const std::string where = "@" + fault->function;
  if (fault->kind == AnnotationFault::Kind::kValue) {
    throw_internal("binding " + fault->variable + " cannot be deduced" + suffix + ": " +
                       fault->error.to_string(),
                   where);
  }
  const bool is_result = fault->kind == AnnotationFault::Kind::kResult;
  throw_internal("annotation of " + (is_result ? "the result" : "binding " + fault->variable) +
                     " is " + fault->stored + ", but " + fault->deduced + " is deduced" + suffix,
                 where);
}

}  // namespace tapml::build
