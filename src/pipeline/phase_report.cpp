#include "pipeline/phase_report.h"

#include "arith/evaluate.h"
#include "op/shapes.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "relax/visit.h"

namespace tapml::pipeline {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

using NamedValues = std::map<std::string, int64_t>;

std::optional<int64_t> value_of(const PrimExpr& expr, const NamedValues& values) {
  arith::Values by_variable;
  for (const Var& var : free_vars(expr)) {
    auto found = values.find(var->name);
    if (found == values.end()) return std::nullopt;
    by_variable[var.get()] = found->second;
  }
  return arith::evaluate(expr, by_variable);
}

void add(std::optional<int64_t>& total, const std::optional<int64_t>& bytes) {
  int64_t sum = 0;
  const bool known = total && bytes && !__builtin_add_overflow(*total, *bytes, &sum);
  total = known ? std::optional(sum) : std::nullopt;
}

// Adds all tensors in the annotation.
void add_tensors(const Annotation& annotation, const NamedValues& values,
                 std::optional<int64_t>& total) {
  if (const auto* tuple = as_tuple(annotation)) {
    for (const Annotation& field : tuple->fields) add_tensors(field, values, total);
  } else if (const auto* tensor = as_tensor(annotation)) {
    if (!tensor->shape || !tensor->dtype) {
      total = std::nullopt;
      return;
    }
    add(total,
        value_of(op::product(*tensor->shape) * static_cast<int64_t>(dtype_bytes(*tensor->dtype)),
                 values));
  }
}

FunctionNumbers count_function(const Function& function, const NamedValues& values) {
  FunctionNumbers numbers;
  std::optional<int64_t> storages = 0, tensors = 0;
  bool planned = false;
  visit_bindings(function.body, [&](const Binding& binding, bool) {
    ++numbers.bindings;
    const auto* call = as<CallNode>(binding.value);
    if (!call) return;
    const std::string& name = called_operator(binding.value);
    if (name == "memory.alloc_storage") {
      planned = true;
      for (const PrimExpr& bytes : as<ShapeNode>(call->args.at(0))->dims) {
        add(storages, value_of(bytes, values));
      }
      return;
    }
    if (name.starts_with("memory.") || passes::is_view(name)) return;
    ++numbers.calls;
    add_tensors(binding.var->annotation, values, tensors);
  });
  numbers.bytes = planned ? storages : tensors;
  return numbers;
}

}  // namespace

PassNumbers count_pass(const std::string& pass, const Module& module, const NamedValues& values) {
  PassNumbers numbers;
  numbers.pass = pass;
  for (const auto& [name, function] : module.functions) {
    if (passes::is_kernel(function.get())) ++numbers.kernels;
    if (tir::as_prim_func(function.get())) ++numbers.programs;
  }
  for (const auto& [name, function] : passes::graph_functions(module)) {
    numbers.functions[name] = count_function(*function, values);
  }
  return numbers;
}

}  // namespace tapml::pipeline
