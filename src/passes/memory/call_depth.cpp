#include "passes/memory/call_depth.h"

#include <algorithm>

#include "passes/kernel.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

CallDepth::CallDepth(const Module& module) {
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || is_kernel(source)) continue;
    std::set<std::string>& callees = callees_[name];
    visit(source->body, [&](const Expr& e) {
      if (const auto* call = as<CallNode>(e)) {
        if (const auto* global = as<GlobalVarNode>(call->callee)) callees.insert(global->name);
        for (const Expr& arg : call->args) {
          if (const auto* global = as<GlobalVarNode>(arg)) complex_.insert(global->name);
        }
      } else if (const auto* tuple = as<TupleNode>(e)) {
        for (const Expr& field : tuple->fields) {
          if (const auto* global = as<GlobalVarNode>(field)) complex_.insert(global->name);
        }
      }
    });
    visit_bindings(source->body, [&](const Binding& binding, bool) {
      if (const auto* global = as<GlobalVarNode>(binding.value)) complex_.insert(global->name);
    });
    if (const auto* global = as<GlobalVarNode>(body_of(*source).result)) {
      complex_.insert(global->name);
    }
  }
  // What a value calls may be in progress below any caller.
  std::vector<std::string> open(complex_.begin(), complex_.end());
  while (!open.empty()) {
    std::string name = std::move(open.back());
    open.pop_back();
    for (const std::string& callee : callees_[name]) {
      if (complex_.insert(callee).second) open.push_back(callee);
    }
  }
  // Without functions that are called by others still in doubt, again and again: what is left lies
  // in cycles or below them.
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
