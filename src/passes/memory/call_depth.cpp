#include "passes/memory/call_depth.h"

#include <algorithm>

#include "passes/graph_functions.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// The numbers of parameters of functions that an argument may hold.
void collect_callables(const Annotation& annotation, std::set<size_t>& counts) {
  if (const auto* callable = as_callable(annotation)) counts.insert(callable->params.size());
  if (const auto* tuple = as_tuple(annotation)) {
    for (const Annotation& field : tuple->fields) collect_callables(field, counts);
  }
}

}  // namespace

std::set<std::string> functions_as_values(const Module& module) {
  std::map<std::string, int> named;  // uses other than calls
  auto count = [&](const Expr& e, int by) {
    if (const auto* global = as<GlobalVarNode>(e)) named[global->name] += by;
  };
  for (const auto& [name, function] : graph_functions(module)) {
    visit(function->body, [&](const Expr& e) {
      count(e, 1);
      if (const auto* call = as<CallNode>(e)) {
        count(call->callee, -1);
        if (called_operator(e).starts_with("call_tir") && !call->args.empty()) {
          count(call->args[0], -1);
        }
      } else if (const auto* lambda = as<FunctionNode>(e)) {
        // After lambda lifting it stands for the function that it calls.
        visit(lambda->function->body, [&](const Expr& inner) {
          if (const auto* call = as<CallNode>(inner)) count(call->callee, 1);
        });
      }
    });
  }
  // Callers of the module may pass its public functions.
  std::set<size_t> passed;
  for (const auto& [name, function] : graph_functions(module)) {
    if (function->facts.is_private) continue;
    for (const Variable& param : function->params) collect_callables(param->annotation, passed);
  }
  std::set<std::string> values;
  for (const auto& [name, function] : graph_functions(module)) {
    auto found = named.find(name);
    const bool is_named = found != named.end() && found->second > 0;
    const bool is_passed = !function->facts.is_private && passed.contains(function->params.size());
    if (is_named || is_passed) values.insert(name);
  }
  return values;
}

CallDepth::CallDepth(const Module& module) {
  const std::set<std::string> values = functions_as_values(module);
  for (const auto& [name, function] : graph_functions(module)) {
    std::set<std::string>& callees = callees_[name];
    visit(function->body, [&](const Expr& e) {
      const auto* call = as<CallNode>(e);
      if (!call) return;
      if (const auto* global = as<GlobalVarNode>(call->callee)) {
        callees.insert(global->name);
      } else if (called_operator(e).empty()) {
        // Any function value may be called, and a packed function may call its arguments.
        callees.insert(values.begin(), values.end());
      }
    });
  }
  // Repeatedly removes functions that no remaining function calls: the rest is in cycles or called
  // from them.
  std::map<std::string, size_t> callers;
  for (const auto& [name, callees] : callees_) {
    callers[name];
    for (const std::string& callee : callees) ++callers[callee];
  }
  for (const auto& [name, count] : callers) {
    if (count == 0) callers_first_.push_back(name);
  }
  for (size_t i = 0; i < callers_first_.size(); ++i) {
    for (const std::string& callee : callees_[callers_first_[i]]) {
      if (--callers[callee] == 0) callers_first_.push_back(callee);
    }
  }
  for (const auto& [name, count] : callers) {
    if (count > 0) complex_.insert(name);
  }
}

std::map<std::string, size_t> CallDepth::first_static(
    const std::map<std::string, size_t>& counts) const {
  std::map<std::string, size_t> first;
  for (const std::string& name : callers_first_) {
    auto own = counts.find(name);
    size_t end = first[name] + (own == counts.end() ? 0 : own->second);
    auto callees = callees_.find(name);
    if (callees == callees_.end()) continue;
    for (const std::string& callee : callees->second) {
      first[callee] = std::max(first[callee], end);
    }
  }
  return first;
}

}  // namespace tapml::passes
