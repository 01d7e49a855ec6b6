// The call graph of a module, as far as static storage needs it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/module.h"

namespace tapml::passes {

// Functions of the module that are used as values: by name, or by a lambda that calls them.
std::set<std::string> functions_as_values(const Module& module);

// Any function used as a value counts as called wherever a function value or a packed function is
// called.
class CallDepth {
 public:
  explicit CallDepth(const Module& module);

  // Whether at most one call of the function can be in progress: it is not recursive, directly or
  // indirectly.
  bool is_simple(const std::string& name) const { return !complex_.contains(name); }

  // Index of each function's first static storage, when function f has counts[f] of them: after
  // those of every function that may be in progress when it is called.
  std::map<std::string, size_t> first_static(const std::map<std::string, size_t>& counts) const;

 private:
  std::map<std::string, std::set<std::string>> callees_;
  std::set<std::string> complex_;
  std::vector<std::string> callers_first_;  // of functions that are not in a cycle
};

}  // namespace tapml::passes
