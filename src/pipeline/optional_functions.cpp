#include "pipeline/optional_functions.h"

#include <algorithm>
#include <optional>
#include <set>

#include "passes/dead_code.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/visit.h"
#include "tir/visit.h"

namespace tapml::pipeline {

namespace {

// A wide dtype of the kernel's tensor program that the target lacks.
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

// What the function calls that the target cannot compute; empty: nothing.
std::string reason_of(const Module& fixed, const relax::Function& function,
                      const std::set<DType>& computed) {
  std::string reason;
  relax::visit(function.body, [&](const relax::Expr& e) {
    const auto* global = relax::as<relax::GlobalVarNode>(e);
    if (!reason.empty() || !global || !passes::is_kernel(fixed.find(global->name))) return;
    if (auto missing = missing_dtype(fixed, global->name, computed)) {
      reason = "kernel " + global->name + " computes in " + dtype_name(*missing) +
               ", which the platform lacks";
    }
  });
  return reason;
}

}  // namespace

Module without_unsupported(const Module& fixed, const target::Target& target,
                           std::vector<LeftOut>& left_out) {
  Module kept = fixed;
  const std::set<DType>& computed = target.description.features.compute_dtypes;
  bool any = false;
  for (const auto& [name, function] : passes::graph_functions(fixed)) {
    if (!attr_or(function->attrs, kOptionalAttr, false)) continue;
    std::string reason = reason_of(fixed, *function, computed);
    if (reason.empty()) continue;
    kept.functions.erase(name);
    left_out.push_back({name, std::move(reason)});
    any = true;
  }
  return any ? passes::eliminate_dead_code(kept) : kept;
}

}  // namespace tapml::pipeline
