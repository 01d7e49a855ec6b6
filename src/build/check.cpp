#include "build/annotations.h"
#include "build/block_builder.h"
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

void check_annotations(const Module& module, const std::string& after_pass) {
  std::string suffix = after_pass.empty() ? "" : " after pass " + after_pass;
  for (const auto& [name, base] : module.functions) {
    const auto* function = as_relax_function(base.get());
    if (!function) continue;
    auto fail = [&](const std::string& what, const Annotation& stored, const Annotation& deduced) {
      throw_internal("annotation of " + what + " is " + to_string(stored) + ", but " +
                         to_string(deduced) + " is deduced" + suffix,
                     "@" + name);
    };
    visit_bindings(function->body, [&](const Binding& binding, bool) {
      Annotation deduced;
      try {
        deduced = annotation_of_value(binding.value, module);
      } catch (const CompilerException& e) {
        throw_internal("binding " + binding.var->name + " cannot be deduced" + suffix + ": " +
                           e.error().to_string(),
                       "@" + name);
      }
      const Annotation& stored = binding.var->annotation;
      if (binding.match_cast && !compatible(stored, binding.match_cast)) {
        fail("binding " + binding.var->name, stored, binding.match_cast);
      }
      if (!compatible(stored, deduced)) fail("binding " + binding.var->name, stored, deduced);
    });
    Annotation result = annotation_of_value(function->body, module);
    if (!compatible(function->result, result)) fail("the result", function->result, result);
  }
}

}  // namespace tapml::build
