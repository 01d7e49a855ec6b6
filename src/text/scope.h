// Names that are visible while a function is parsed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"
#include "relax/expr.h"
#include "tir/buffer.h"

namespace tapml::text {

// What a name refers to: exactly one member is set.
struct Symbol {
  Var scalar;
  relax::Variable variable;
  tir::Buffer buffer;
  size_t offset = 0;  // where it was bound
  bool open = true;   // false: its scope has ended

  const char* kind() const {
    return scalar ? "a scalar" : variable ? "a graph-level variable" : "a buffer";
  }
};

// One namespace per function. Inner scopes may not shadow a visible name; after a scope ends, its
// names may be bound again.
class ScopeStack {
 public:
  void push() { scopes_.emplace_back(); }
  void pop() {
    for (const std::string& name : scopes_.back()) symbols_[name].open = false;
    scopes_.pop_back();
  }
  void close(const std::string& name) { symbols_[name].open = false; }

  // The symbol of a name, open or not; null if it was never bound.
  const Symbol* find(const std::string& name) const {
    auto it = symbols_.find(name);
    return it == symbols_.end() ? nullptr : &it->second;
  }
  // Names that are visible now, sorted.
  std::vector<std::string_view> open_names() const {
    std::vector<std::string_view> names;
    for (const auto& [name, symbol] : symbols_) {
      if (symbol.open) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // Scalars that the innermost scope binds, in the order of their names.
  std::vector<Var> scalars() const {
    std::vector<std::string> names = scopes_.back();
    std::sort(names.begin(), names.end());
    std::vector<Var> vars;
    for (const std::string& name : names) {
      if (Var var = symbols_.at(name).scalar) vars.push_back(std::move(var));
    }
    return vars;
  }
  // The name must not be open.
  void define(const std::string& name, Symbol symbol) {
    symbols_[name] = std::move(symbol);
    scopes_.back().push_back(name);
  }
  bool empty() const { return scopes_.empty(); }
  void clear() {
    symbols_.clear();
    scopes_.clear();
  }

 private:
  std::unordered_map<std::string, Symbol> symbols_;
  std::vector<std::vector<std::string>> scopes_;
};

}  // namespace tapml::text
