#include "pipeline/check_input.h"

#include <type_traits>

#include "abi/model_interface.h"
#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "passes/a_normal_form.h"
#include "passes/kernel.h"
#include "passes/weights.h"
#include "pipeline/check_dimensions.h"
#include "pipeline/unproved_kernels.h"

namespace tapml::pipeline {

namespace {

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  if constexpr (std::is_same_v<T, DType>) return "a dtype";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of strings";
  return "a list of numbers";
}

const char* type_name_of(const AttrValue& value) {
  return std::visit([](const auto& held) { return type_name<std::decay_t<decltype(held)>>(); },
                    value);
}

// [] has no element type.
bool is_empty_list(const AttrValue& value) {
  const auto* integers = std::get_if<std::vector<int64_t>>(&value);
  return integers && integers->empty();
}

// The module attributes that the compiler reads must have the expected types; an attribute of
// another type would otherwise be ignored. Other attributes belong to the author.
void check_attributes(const Module& module, const std::string& source) {
  const AttrMap known = model_interface_attrs({});
  for (const auto& [name, value] : module.all_attrs()) {
    const bool bound = name.starts_with("bound.");
    if (bound) {
      const auto* most = std::get_if<int64_t>(&value);
      if (most && *most >= 0) continue;
      throw_user("the module's attribute " + name + " is not a bound", source,
                 "an integer, 0 or more", most ? std::to_string(*most) : type_name_of(value));
    }
    if (const std::string fact = expected_fact(name, /*of_module=*/true);
        !fact.empty() && module.attrs.contains(name) && !is_empty_list(value)) {
      throw_user("the module's attribute " + name + " has the wrong type", source, fact,
                 type_name_of(value));
    }
    auto expected = known.find(name);
    if (expected == known.end() || value.index() == expected->second.index()) continue;
    if (is_empty_list(value) && std::holds_alternative<std::vector<std::string>>(expected->second))
      continue;
    throw_user("the module's attribute " + name + " has the wrong type", source,
               type_name_of(expected->second), type_name_of(value));
  }
  if (const auto model = model_interface_of(module.all_attrs()); !model) {
    Error error = model.error();
    error.where = source + ", " + error.where;
    throw_error(error);
  }
}

// A function marked as a kernel must have an implementation.
void check_kernels(const Module& module, const std::string& source, const text::SourceMap* places) {
  for (const auto& [name, function] : module.functions) {
    if (!passes::is_kernel(function.get())) continue;
    const std::string& implementation = function->facts.implementation;
    if (implementation == name + "_impl" && tir::as_prim_func(module.find(implementation))) {
      continue;
    }
    throw_user("kernel @" + name + " has no implementation",
               places ? places->function(name) : source,
               "a tensor program @" + name + "_impl, named by the attribute \"implementation\"",
               implementation.empty() ? "no such attribute" : "@" + implementation);
  }
}

// The same check as between passes, but an error here is the text's fault.
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
  throw_user("the function '" + function + "' does not return a value of its declared type",
             places ? places->result(function) : unseen, fault->deduced, fault->stored);
}

}  // namespace

bool is_planned(const Module& module) { return module.facts.phase == "plan"; }

void check_input(const Module& module, const std::string& source, const text::SourceMap* places) {
  analysis::verify_input(module, source, places);
  if (is_planned(module)) {
    throw_user("the module's memory is already planned", source, "a module of an earlier phase",
               "phase \"plan\"");
  }
  check_attributes(module, source);
  check_dimensions(module, source, places);
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
  // Kernels in the text may have loops that a person edited.
  for (auto& [name, function] : normal.functions) {
    const tir::PrimFunc* program = tir::as_prim_func(function.get());
    if (!program || program->facts.spec.empty()) continue;
    function = passes::mark_written(*program);
  }
  return normal;
}

}  // namespace tapml::pipeline
