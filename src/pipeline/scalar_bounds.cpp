#include "pipeline/scalar_bounds.h"

#include <algorithm>

#include "arith/symbols.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/bounds.h"
#include "relax/kernel_call.h"
#include "relax/visit.h"

namespace tapml::pipeline {

std::map<std::string, std::vector<std::optional<int64_t>>> scalar_bounds(
    const Module& fixed, const passes::Bounds& given) {
  std::map<std::string, std::vector<std::optional<int64_t>>> all;
  for (const auto& [name, function] : passes::graph_functions(fixed)) {
    auto bound_of = [&, source = function](const Var& var) -> std::optional<int64_t> {
      const std::optional<int64_t> stated = relax::bound_of(var->name, fixed, *source);
      auto one = given.find(var->name);
      if (one == given.end()) return stated;
      return stated ? std::min(*stated, one->second) : one->second;
    };
    relax::visit_bindings(function->body, [&](const relax::Binding& binding, bool) {
      if (!relax::is_call_tir(binding.value)) return;
      const auto& call = *relax::as<relax::CallNode>(binding.value);
      const std::string& kernel = relax::call_tir_callee(call);
      const tir::PrimFunc& program = passes::kernel_implementation(fixed, kernel);
      std::vector<relax::Annotation> annotations;
      for (const relax::Expr& arg : relax::call_tir_args(call)) {
        annotations.push_back(relax::annotation_of(arg));
      }
      const std::vector<PrimExpr> values =
          relax::scalar_values(program, annotations, relax::call_tir_symbols(call));
      auto [known, fresh] = all.try_emplace(kernel, values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        arith::Analyzer analyzer;
        for (const Var& var : free_vars(values[i]))
          arith::bind_symbol(var, bound_of(var), analyzer);
        std::optional<int64_t> most = analyzer.upper_bound(values[i]);
        std::optional<int64_t>& so_far = known->second[i];
        if (fresh) {
          so_far = most;
        } else {
          so_far = so_far && most ? std::optional(std::max(*so_far, *most)) : std::nullopt;
        }
      }
    });
  }
  return all;
}

}  // namespace tapml::pipeline
