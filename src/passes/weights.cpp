#include "passes/weights.h"

#include <algorithm>

#include "passes/graph_functions.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

std::vector<std::string> weight_names(const Module& module) { return module.facts.weights; }

std::vector<std::string> prepared_names(const Module& module) { return module.facts.prepared; }

std::set<std::string> functions_with_weights(const Module& module) {
  std::set<std::string> found;
  const std::vector<std::string> names = weight_names(module);
  const std::set<std::string> weights(names.begin(), names.end());
  // A `prepare` that is not made by passes has its own results.
  if (weights.empty() || (module.find(kPrepareFunction) && prepared_names(module).empty())) {
    return found;
  }
  for (const auto& [name, function] : graph_functions(module)) {
    if (name == kPrepareFunction) continue;
    for (const Variable& param : function->params) {
      if (weights.contains(param->name)) found.insert(name);
    }
  }
  // Callers inside the module pass their own values on, so their callees keep their parameters.
  for (const auto& [name, function] : graph_functions(module)) {
    visit(function->body, [&](const Expr& e) {
      if (const auto* global = as<GlobalVarNode>(e)) found.erase(global->name);
    });
  }
  return found;
}

WeightParameters::WeightParameters(const Module& module) {
  for (const std::vector<std::string>& names : {weight_names(module), prepared_names(module)}) {
    names_.insert(names.begin(), names.end());
  }
}

std::unordered_set<const VarNode*> WeightParameters::of(const Function& function) const {
  std::unordered_set<const VarNode*> held;
  for (const Variable& param : function.params) {
    const auto* tensor = as_tensor(param->annotation);
    if (!tensor || !tensor->shape || !tensor->dtype || !names_.contains(param->name)) continue;
    const Dims& dims = *tensor->shape;
    if (std::all_of(dims.begin(), dims.end(), [](const PrimExpr& dim) { return dim.is_int(); })) {
      held.insert(param.get());
    }
  }
  return held;
}

}  // namespace tapml::passes
