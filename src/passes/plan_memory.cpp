#include "passes/plan_memory.h"

#include <algorithm>
#include <memory>
#include <set>

#include "passes/graph_functions.h"
#include "passes/memory/call_depth.h"
#include "passes/memory/plan_function.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

void add_bounds(const SymbolBounds& added, Bounds& bounds) {
  for (const auto& [name, bound] : added) {
    if (bound < 0) continue;
    auto [known, fresh] = bounds.emplace(name, bound);
    if (!fresh) known->second = std::min(known->second, bound);
  }
}

}  // namespace

Module plan_memory(const Module& module) { return plan_memory_with(module, {}); }

Module plan_memory_with(const Module& module, const PlanMemoryOptions& options) {
  if (module.facts.phase == "plan") return module;
  Module result = module;
  result.facts.phase = "plan";
  Bounds bounds = options.bounds;
  add_bounds(module.facts.bounds, bounds);
  const std::set<std::string> keeping = analysis::functions_that_keep(module);
  analysis::Keeps keeps = [&](const Expr& callee) {
    const auto* global = as<GlobalVarNode>(callee);
    return !global || keeping.contains(global->name);
  };
  CallDepth calls(module);
  std::map<std::string, Bounds> bounds_of;
  std::map<std::string, std::unique_ptr<FunctionPlanner>> planners;
  std::map<std::string, size_t> counts;
  for (const auto& [name, source] : graph_functions(module)) {
    Bounds& own = bounds_of[name] = bounds;
    add_bounds(source->facts.bounds, own);
    auto planner = std::make_unique<FunctionPlanner>(module, *source, own, options, keeps);
    planner->decide(calls.is_simple(name));
    counts[name] = planner->static_count();
    planners[name] = std::move(planner);
  }
  // A callee's static storages come after those of its callers, which are in use.
  std::map<std::string, size_t> firsts = calls.first_static(counts);
  for (const auto& [name, planner] : planners) {
    result.functions[name] = planner->rewrite(firsts[name]);
  }
  return result;
}

}  // namespace tapml::passes
