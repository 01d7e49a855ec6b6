#include "pipeline/optional_functions.h"

#include <map>
#include <optional>
#include <set>

#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/visit.h"
#include "tir/visit.h"

namespace tapml::pipeline {

namespace {

// A dtype that the kernel's tensor program uses and the target lacks.
std::optional<DType> missing_dtype(const Module& fixed, const std::string& kernel,
                                   const std::set<DType>& computed) {
  std::optional<DType> missing;
  auto look = [&](DType dtype) {
    const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
    if (!narrow && !computed.contains(dtype)) missing = dtype;
  };
  const tir::PrimFunc& program = passes::kernel_implementation(fixed, kernel);
  for (const tir::Param& param : program.params) look(param.buffer->dtype);
  tir::visit(program.body, {}, [&](const PrimExpr& root) {
    visit_expr(root, [&](const PrimExpr& e) { look(e.dtype()); });
  });
  return missing;
}

std::set<std::string> kernels_of(const Module& fixed, const relax::Function& function) {
  std::set<std::string> kernels;
  relax::visit(function.body, [&](const relax::Expr& e) {
    const auto* global = relax::as<relax::GlobalVarNode>(e);
    if (global && passes::is_kernel(fixed.find(global->name))) kernels.insert(global->name);
  });
  return kernels;
}

}  // namespace

Module without_unsupported(const Module& fixed, const target::Target& target,
                           const std::function<bool(const std::string& kernel)>& given,
                           std::vector<OmittedFunction>& omitted_functions) {
  std::map<std::string, DType> unsupported;  // kernels and their unsupported dtype
  for (const auto& [name, function] : fixed.functions) {
    if (!passes::is_kernel(function.get()) || given(name)) continue;
    const auto missing = missing_dtype(fixed, name, target.description.features.compute_dtypes);
    if (missing) unsupported[name] = *missing;
  }
  if (unsupported.empty()) return fixed;
  Module kept = fixed;
  for (const auto& [name, function] : passes::graph_functions(fixed)) {
    const bool optional = function->facts.optional;
    for (const std::string& kernel : kernels_of(fixed, *function)) {
      auto it = unsupported.find(kernel);
      if (it == unsupported.end()) continue;
      if (!optional) {
        unsupported.erase(it);  // code generation reports the error
        continue;
      }
      kept.functions.erase(name);
      omitted_functions.push_back({name, "kernel " + kernel + " computes in " +
                                             dtype_name(it->second) +
                                             ", which the platform lacks"});
      break;
    }
  }
  for (const auto& [name, dtype] : unsupported) {
    kept.functions.erase(fixed.find(name)->facts.implementation);
    kept.functions.erase(name);
  }
  return kept;
}

}  // namespace tapml::pipeline
