#include "pipeline/check_input.h"

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "passes/a_normal_form.h"
#include "passes/kernel.h"
#include "pipeline/unproved_kernels.h"

namespace tapml::pipeline {

namespace {

// A function that calls itself a kernel has its implementation beside it.
void check_kernels(const Module& module, const std::string& source, const text::SourceMap* places) {
  for (const auto& [name, function] : module.functions) {
    if (!passes::is_kernel(function.get())) continue;
    const auto* implementation =
        find_attr<std::string>(function->attrs, passes::kImplementationAttr);
    if (implementation && *implementation == name + "_impl" &&
        tir::as_prim_func(module.find(*implementation))) {
      continue;
    }
    throw_user("kernel @" + name + " has no implementation",
               places ? places->function(name) : source,
               "a tensor program @" + name + "_impl, named by the attribute \"implementation\"",
               implementation ? "@" + *implementation : "no such attribute");
  }
}

// The same check that stands between passes, but here the fault is the text's.
void check_annotations(const Module& module, const std::string& source,
                       const text::SourceMap* places) {
  using Kind = build::AnnotationFault::Kind;
  const std::optional<build::AnnotationFault> fault = build::find_annotation_fault(module);
  if (!fault) return;
  const std::string& function = fault->function;
  const std::string& variable = fault->variable;
  const std::string unseen =
      source + ", function " + function + (variable.empty() ? "" : ", binding " + variable);
  if (fault->kind == Kind::kValue) {
    if (fault->error.kind != ErrorKind::kUser) throw_error(fault->error);
    throw_user(fault->error.message, places ? places->value(function, variable) : unseen,
               fault->error.expected, fault->error.found, fault->error.hint);
  }
  if (fault->kind == Kind::kAnnotation) {
    throw_user("the annotation of '" + variable + "' is not the one of its value",
               places ? places->annotation(function, variable) : unseen, fault->deduced,
               fault->stored);
  }
  throw_user("the function '" + function + "' returns something else than it says",
             places ? places->result(function) : unseen, fault->deduced, fault->stored);
}

}  // namespace

void check_input(const Module& module, const std::string& source, const text::SourceMap* places) {
  analysis::verify_input(module, source, places);
  if (attr_or<std::string>(module.attrs, "phase", "") == "plan") {
    throw_user("the module's memory is already planned", source, "a module of an earlier phase",
               "phase \"plan\"");
  }
  check_kernels(module, source, places);
  check_annotations(module, source, places);
  refuse_accesses_outside(module, source, places);
}

Module normal_form(const Module& module, text::SourceMap* places) {
  passes::NestedBindings nested;
  Module normal = passes::a_normal_form(module, &nested);
  if (places) {
    for (const auto& [binding, of] : nested) places->add_part(binding.first, binding.second, of);
  }
  return normal;
}

Module normal_input(const Module& module, const std::string& source, text::SourceMap* places) {
  Module normal = normal_form(module, places);
  check_input(normal, source, places);
  return normal;
}

}  // namespace tapml::pipeline
