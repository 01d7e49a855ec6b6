#include "toy_pass.h"

#include <map>

#include "passes/graph_functions.h"
#include "relax/expr.h"
#include "relax/visit.h"

namespace tapml::testing {

using namespace relax;  // NOLINT: this file is about relax alone

Module remove_double_negation(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : passes::graph_functions(module)) {
    std::map<const VarNode*, Expr> negated;  // the operand of each variable that is a negative
    Expr body = map_blocks(source->body, [&](Block block) {
      for (Binding& binding : block.bindings) {
        if (binding.match_cast || called_operator(binding.value) != "negative") continue;
        const Expr operand = as<CallNode>(binding.value)->args.at(0);
        const auto* var = as<VarNode>(operand);
        const auto inner = var ? negated.find(var) : negated.end();
        negated.emplace(binding.var.get(), operand);
        if (inner != negated.end()) binding.value = inner->second;
      }
      return block;
    });
    result.functions[name] = passes::with_body(*source, std::move(body));
  }
  return result;
}

pipeline::AddedPass double_negation_pass() {
  return {
      .name = "remove_double_negation", .after = "simplify_graph", .run = remove_double_negation};
}

}  // namespace tapml::testing
