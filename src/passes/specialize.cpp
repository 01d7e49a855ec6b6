#include "passes/specialize.h"

#include <ranges>

#include "arith/symbols.h"
#include "base/strings.h"
#include "ir/exceptions.h"
#include "ir/symbol.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/partial_evaluate.h"
#include "relax/bounds.h"
#include "relax/rewrite.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

std::string functions_of(const Module& module) {
  const std::string names = join(std::views::keys(graph_functions(module)));
  return names.empty() ? "a module with functions" : names;
}

std::string names_of(const std::vector<Var>& vars) {
  return vars.empty() ? "no variable: every shape is known"
                      : join(vars, [](const Var& var) { return var->name; });
}

}  // namespace

Module specialize(const Module& module, const std::string& function,
                  const std::map<std::string, int64_t>& values) {
  const Function* source = as_relax_function(module.find(function));
  if (!source || is_kernel(source)) {
    throw_user("there is no function to specialize", "", functions_of(module), function);
  }
  const std::vector<Var> vars = signature_vars(*source);
  VarMap known;
  for (const auto& [name, value] : values) {
    const std::optional<int64_t> most = bound_of(name, module, *source);
    if (most && value > *most) {
      throw_user("a value is above the variable's bound",
                 "function " + function + ", variable " + name,
                 name + " <= " + std::to_string(*most), std::to_string(value));
    }
    size_t before = known.size();
    for (const Var& var : vars) {
      if (var->name != name) continue;
      known[var.get()] = PrimExpr(value);
      const std::optional<int64_t> least = least_value(var);
      if (!least || value >= *least) continue;
      throw_user(value < 0 ? "a dimension cannot be negative" : "a dimension would be negative",
                 "function " + function + ", variable " + name, std::to_string(*least) + " or more",
                 std::to_string(value));
    }
    if (known.size() == before) {
      throw_user("the function's parameters have no such symbolic variable", "function " + function,
                 names_of(vars), name);
    }
  }
  arith::Analyzer analyzer;
  for (const Var& var : vars) arith::bind_symbol(var, std::nullopt, analyzer);
  Module result = module;
  result.functions[function] = map_symbols(*source, [&](const PrimExpr& expr) {
    PrimExpr at = tapml::substitute(expr, known);
    return at.same_as(expr) ? expr : analyzer.simplify(at);
  });
  return result;
}

Module bind_shapes(const Module& module, const ShapeValues& values) {
  if (values.empty()) return module;
  Module result = module;
  for (const auto& [function, bound] : values) result = specialize(result, function, bound);
  return partial_evaluate(result);
}

}  // namespace tapml::passes
