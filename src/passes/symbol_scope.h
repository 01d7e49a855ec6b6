// The symbolic variables in scope at a point of a function.
#pragma once

#include <set>
#include <vector>

#include "ir/expr.h"

namespace tapml::passes {

class SymbolScope {
 public:
  void add(const std::vector<Var>& vars) {
    for (const Var& var : vars) {
      if (known_.insert(var.get()).second) order_.push_back(var.get());
    }
  }
  bool contains(const Var& var) const { return known_.contains(var.get()); }
  size_t size() const { return order_.size(); }
  // Ends the scope of those added after the first `size`.
  void shrink(size_t size) {
    for (; order_.size() > size; order_.pop_back()) known_.erase(order_.back());
  }

 private:
  std::vector<const tapml::ExprNode*> order_;
  std::set<const tapml::ExprNode*> known_;
};

}  // namespace tapml::passes
