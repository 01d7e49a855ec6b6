#include "fuzz/relax_calls.h"

#include <functional>

#include "relax/visit.h"

namespace tapml::fuzz {

namespace {

void visit_calls(const Module& module, const std::function<void(const relax::Expr& call)>& each) {
  for (const auto& [name, function] : module.functions) {
    const auto* graph = relax::as_relax_function(function.get());
    if (!graph) continue;
    relax::visit(graph->body, [&](const relax::Expr& part) {
      if (relax::as<relax::CallNode>(part)) each(part);
    });
  }
}

}  // namespace

int count_calls(const Module& module) {
  int count = 0;
  visit_calls(module, [&](const relax::Expr&) { ++count; });
  return count;
}

std::set<std::string> called_operators(const Module& module) {
  std::set<std::string> names;
  visit_calls(module, [&](const relax::Expr& call) { names.insert(relax::called_operator(call)); });
  names.erase("");
  return names;
}

}  // namespace tapml::fuzz
