#include "passes/split_wide_concat.h"

#include <algorithm>

#include "op/operator.h"
#include "passes/graph_functions.h"
#include "relax/check_location.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Appends the parts of `binding` (a wide concat) to `into`; the last one is bound to its variable.
// More than two parts form a tree, so that no element is copied more than a few times.
void add_parts(const Binding& binding, bool dataflow, std::vector<Binding>& into) {
  const auto& call = *as<CallNode>(binding.value);
  std::vector<Expr> rest = as<TupleNode>(call.args[0])->fields;
  while (rest.size() > kConcatOperands) {
    const bool one_suffices = rest.size() < 2 * kConcatOperands;
    std::vector<Expr> joined;
    for (size_t next = 0; next < rest.size();) {
      const size_t count = std::min(kConcatOperands, rest.size() - next);
      if (count == 1 || (one_suffices && next > 0)) {
        joined.push_back(rest[next++]);
        continue;
      }
      const auto begin = rest.begin() + static_cast<ptrdiff_t>(next);
      std::vector<Expr> some(begin, begin + static_cast<ptrdiff_t>(count));
      next += count;
      Expr part = make_call(call.callee, {make_tuple(std::move(some))}, call.attrs);
      Variable var =
          make_variable(binding.var->name + "_part", op::deduce(*as<CallNode>(part)), dataflow);
      into.push_back({var, part, nullptr, binding.origin, written_note(binding)});
      joined.push_back(var);
    }
    rest = std::move(joined);
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

Module split_wide_concat(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    Expr body = map_blocks(source->body, [](const Block& block) {
      Block result{.dataflow = block.dataflow, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        if (is_wide_concat(binding)) {
          add_parts(binding, block.dataflow, result.bindings);
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
