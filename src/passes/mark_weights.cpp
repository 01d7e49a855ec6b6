#include "passes/mark_weights.h"

#include <map>
#include <memory>

#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/weights.h"
#include "relax/visit.h"
#include "tir/prim_func.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// By kernel: inputs that are weights at every call seen so far.
using Marks = std::map<std::string, std::set<int64_t>>;

// `weights`: those of the calling function.
void add_call(const std::unordered_set<const VarNode*>& weights, const CallNode& call,
              Marks& marks) {
  std::set<int64_t> held;
  const std::vector<Expr>& args = call_tir_args(call);
  for (size_t i = 0; i < args.size(); ++i) {
    if (weights.contains(as<VarNode>(args[i]))) held.insert(static_cast<int64_t>(i));
  }
  auto [known, fresh] = marks.emplace(call_tir_callee(call), held);
  if (fresh) return;
  std::erase_if(known->second, [&](int64_t index) { return !held.contains(index); });
}

void set_weights(Module& module, const std::string& name,
                 std::optional<std::vector<int64_t>> weights) {
  auto spec = std::make_shared<Function>(kernel_spec(module, name));
  auto program = std::make_shared<tir::PrimFunc>(kernel_implementation(module, name));
  spec->facts.weights = program->facts.weights = std::move(weights);
  module.functions[spec->facts.implementation] = std::move(program);
  module.functions[name] = std::move(spec);
}

}  // namespace

Module mark_weights(const Module& module) {
  const std::set<std::string> takers = functions_with_weights(module);
  if (takers.empty()) return module;
  Marks marks;
  const WeightParameters parameters(module);
  for (const auto& [name, function] : graph_functions(module)) {
    std::unordered_set<const VarNode*> weights;
    if (takers.contains(name)) weights = parameters.of(*function);
    visit_bindings(function->body, [&](const Binding& binding, bool) {
      if (is_call_tir(binding.value)) add_call(weights, *as<CallNode>(binding.value), marks);
    });
  }
  Module result = module;
  for (const auto& [name, indices] : marks) {
    if (indices.empty() || !is_kernel(module.find(name))) continue;
    set_weights(result, name, std::vector<int64_t>(indices.begin(), indices.end()));
  }
  return result;
}

Module unmark_weights(const Module& module) {
  Module result = module;
  for (const auto& [name, function] : module.functions) {
    if (is_kernel(function.get()) && function->facts.weights) {
      set_weights(result, name, std::nullopt);
    }
  }
  return result;
}

}  // namespace tapml::passes
