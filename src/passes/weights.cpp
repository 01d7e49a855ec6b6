#include "passes/weights.h"

#include <algorithm>

#include "passes/graph_functions.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> weight_names(const Module& module) {
  return attr_or<std::vector<std::string>>(module.attrs, kModelWeightsAttr, {});
}

std::vector<std::string> prepared_names(const Module& module) {
  return attr_or<std::vector<std::string>>(module.attrs, kModelPreparedAttr, {});
}

std::set<std::string> functions_with_weights(const Module& module) {
  std::set<std::string> found;
  const std::vector<std::string> weights = weight_names(module);
  // A `prepare` that passes did not make has results of its own.
  if (weights.empty() || (module.find(kPrepareFunction) && prepared_names(module).empty())) {
    return found;
  }
  for (const auto& [name, function] : graph_functions(module)) {
    if (name == kPrepareFunction) continue;
    for (const Variable& param : function->params) {
      if (contains(weights, param->name)) found.insert(name);
    }
  }
  // Callers inside of the module pass on what they have: their callees keep their parameters.
  for (const auto& [name, function] : graph_functions(module)) {
    visit(function->body, [&](const Expr& e) {
      if (const auto* global = as<GlobalVarNode>(e)) found.erase(global->name);
    });
  }
  return found;
}

const VarNode* as_weight(const Module& module, const Function& function, const Expr& expr) {
  const auto* var = as<VarNode>(expr);
  if (!var) return nullptr;
  const bool is_param = std::any_of(function.params.begin(), function.params.end(),
                                    [&](const Variable& param) { return param.get() == var; });
  const auto* tensor = as_tensor(var->annotation);
  if (!is_param || !tensor || !tensor->shape || !tensor->dtype) return nullptr;
  for (const PrimExpr& dim : *tensor->shape) {
    if (!dim.is_int()) return nullptr;
  }
  const bool held =
      contains(weight_names(module), var->name) || contains(prepared_names(module), var->name);
  return held ? var : nullptr;
}

}  // namespace tapml::passes
