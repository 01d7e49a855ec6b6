#include "passes/graph_functions.h"

#include "build/pattern.h"
#include "passes/kernel.h"

namespace tapml::passes {

std::vector<std::pair<std::string, const relax::Function*>> graph_functions(const Module& module) {
  std::vector<std::pair<std::string, const relax::Function*>> functions;
  for (const auto& [name, function] : module.functions) {
    const relax::Function* graph = relax::as_relax_function(function.get());
    if (graph && !is_kernel(graph) && !build::is_pattern(graph))
      functions.emplace_back(name, graph);
  }
  return functions;
}

bool is_fused(const relax::Function& function) { return function.facts.fused; }

relax::FunctionRef with_body(const relax::Function& function, relax::Expr body) {
  auto copy = std::make_shared<relax::Function>(function);
  copy->body = std::move(body);
  return copy;
}

}  // namespace tapml::passes
