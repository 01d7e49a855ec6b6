#include "fuzz/mutate/parts.h"

#include <algorithm>

#include "build/annotations.h"
#include "build/block_builder.h"
#include "build/pattern.h"

namespace tapml::fuzz {

using relax::Expr;
using relax::Variable;

std::vector<std::string> graph_functions_of(const Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, function] : module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (graph && !graph->facts.kernel && !build::is_pattern(graph)) names.push_back(name);
  }
  return names;
}

OwnParams own_params(const relax::Function& function) {
  std::vector<Var> vars;
  for (const Variable& param : function.params) relax::collect_vars(param->annotation, vars);
  VarMap renamed;
  for (const Var& var : vars) renamed.try_emplace(var.get(), make_var(var->name, var.dtype()));
  OwnParams own;
  for (const Variable& param : function.params) {
    own.params.push_back(
        relax::make_variable(param->name, relax::substitute(param->annotation, renamed)));
  }
  return own;
}

Variable Body::bind(Expr value, const std::string& name) {
  Variable variable = relax::make_variable(name, build::annotation_of_value(value, module));
  bindings.push_back({variable, std::move(value), nullptr, {}});
  return variable;
}

relax::FunctionRef Body::function(std::vector<Variable> params, bool pure) const {
  build::SymbolSet visible;
  std::vector<Var> vars;
  for (const Variable& param : params) relax::collect_vars(param->annotation, vars);
  for (const Var& var : vars) visible.insert(var.get());
  const Variable& last = bindings.back().var;
  relax::Annotation annotation = build::restrict_vars(last->annotation, visible);
  return relax::make_function(std::move(params), relax::make_seq({{false, bindings}}, last),
                              std::move(annotation), {}, pure);
}

relax::FunctionRef with_blocks(const relax::Function& function, std::vector<relax::Block> blocks,
                               Expr result) {
  auto changed = std::make_shared<relax::Function>(function);
  changed->body = relax::make_seq(std::move(blocks), std::move(result));
  return changed;
}

relax::FunctionRef redirected(const relax::FunctionRef& function, const std::string& from,
                              const std::string& to) {
  auto changed = std::make_shared<relax::Function>(*function);
  changed->body = relax::map_blocks(function->body, [&](const relax::Block& block) {
    relax::Block result = block;
    for (relax::Binding& binding : result.bindings) {
      const auto* call = relax::as<relax::CallNode>(binding.value);
      const auto* callee = call ? relax::as<relax::GlobalVarNode>(call->callee) : nullptr;
      if (!callee || callee->name != from) continue;
      binding.value =
          relax::make_call(relax::make_global(to), call->args, call->attrs, call->annotations);
    }
    return result;
  });
  return changed;
}

std::vector<Variable> variables_of(const Expr& expr) {
  std::vector<Variable> variables;
  relax::visit(expr, [&](const Expr& part) {
    const auto variable = std::dynamic_pointer_cast<const relax::VarNode>(part);
    if (variable && std::find(variables.begin(), variables.end(), variable) == variables.end()) {
      variables.push_back(variable);
    }
  });
  return variables;
}

}  // namespace tapml::fuzz
