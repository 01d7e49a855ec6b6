#include "passes/chain_concat.h"

#include "op/operator.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/check_places.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Appends the chain of `binding` (a wide concat) to `into`; the last link is bound to its variable.
void add_chain(const Binding& binding, bool dataflow, std::vector<Binding>& into) {
  const auto& call = *as<CallNode>(binding.value);
  std::vector<Expr> rest = as<TupleNode>(call.args[0])->fields;
  while (rest.size() > kConcatOperands) {
    std::vector<Expr> first(rest.begin(), rest.begin() + kConcatOperands);
    rest.erase(rest.begin(), rest.begin() + kConcatOperands);
    Expr part = make_call(call.callee, {make_tuple(std::move(first))}, call.attrs);
    Variable var =
        make_variable(binding.var->name + "_part", op::deduce(*as<CallNode>(part)), dataflow);
    into.push_back({var, part, nullptr, binding.origin, written_note(binding)});
    rest.insert(rest.begin(), var);
  }
  Binding last = binding;
  last.value = make_call(call.callee, {make_tuple(std::move(rest))}, call.attrs);
  into.push_back(std::move(last));
}

bool is_wide_concat(const Binding& binding) {
  if (called_operator(binding.value) != "concat") return false;
  const auto* operands = as<TupleNode>(as<CallNode>(binding.value)->args.at(0));
  return operands && operands->fields.size() > kConcatOperands;
}

}  // namespace

Module chain_concat(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    Expr body = map_blocks(source->body, [](const Block& block) {
      Block result{.dataflow = block.dataflow, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        if (is_wide_concat(binding)) {
          add_chain(binding, block.dataflow, result.bindings);
        } else {
          result.bindings.push_back(binding);
        }
      }
      return result;
    });
    result.functions[name] = with_body(*source, std::move(body));
  }
  return result;
}

}  // namespace tapml::passes
