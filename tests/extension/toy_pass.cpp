#include "toy_pass.h"

#include <map>

#include "passes/graph_functions.h"
#include "relax/expr.h"
#include "relax/visit.h"

namespace tapml::testing {

using namespace relax;  // NOLINT: this file is about relax alone

Module cos_of_abs(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : passes::graph_functions(module)) {
    std::map<const VarNode*, Expr> absolute;  // the operand of each variable that is an abs
    Expr body = map_blocks(source->body, [&](Block block) {
      for (Binding& binding : block.bindings) {
        const std::string& op = called_operator(binding.value);
        if (binding.match_cast || (op != "abs" && op != "cos")) continue;
        const auto& call = *as<CallNode>(binding.value);
        const Expr operand = call.args.at(0);
        if (op == "abs") {
          absolute.emplace(binding.var.get(), operand);
        } else if (const auto* var = as<VarNode>(operand); absolute.contains(var)) {
          binding.value = make_call(call.callee, {absolute.at(var)}, call.attrs);
        }
      }
      return block;
    });
    result.functions[name] = passes::with_body(*source, std::move(body));
  }
  return result;
}

pipeline::AddedPass cos_of_abs_pass() {
  return {.name = "cos_of_abs", .after = "simplify_graph", .run = cos_of_abs};
}

}  // namespace tapml::testing
