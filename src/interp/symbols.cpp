#include "interp/symbols.h"

#include <algorithm>

#include "relax/bounds.h"
#include "relax/check_location.h"
#include "relax/visit.h"

namespace tapml::interp {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool any_bounds(const Module& module) {
  if (!module.facts.bounds.empty()) return true;
  return std::any_of(module.functions.begin(), module.functions.end(),
                     [](const auto& one) { return !one.second->facts.bounds.empty(); });
}

}  // namespace

std::string lambda_name(const std::string& function, const Binding& binding) {
  return function + "." + written_name(binding);
}

ModuleSymbols::ModuleSymbols(const Module& module)
    : module_(module), bounded_(any_bounds(module)) {}

std::optional<int64_t> ModuleSymbols::most(const Var& var, const Function& function) const {
  const bool is_kernel = function.facts.kernel || function.facts.fused;
  if (!bounded_ || is_kernel) return std::nullopt;
  return bound_of(var->name, module_, function);
}

SymbolSource ModuleSymbols::source(const Var& var, const std::string& function) const {
  if (!found_) {
    found_ = true;
    for (const auto& [name, base] : module_.functions) {
      if (const auto* graph = as_relax_function(base.get())) find(*graph, name);
    }
  }
  auto it = sources_.find(var.get());
  if (it == sources_.end()) return {var->name, "", ""};
  SymbolSource source = it->second.source;
  if (it->second.function != function) source.place += " of " + it->second.function;
  return source;
}

void ModuleSymbols::find(const Function& function, const std::string& name) const {
  for (auto& [var, source] : symbol_sources(function)) {
    sources_.emplace(var, Found{std::move(source), name});
  }
  visit_bindings(function.body, [&](const Binding& binding, bool) {
    const auto* lambda = as<FunctionNode>(binding.value);
    if (lambda) find(*lambda->function, lambda_name(name, binding));
  });
}

}  // namespace tapml::interp
