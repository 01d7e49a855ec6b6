// The weights of a module: values that may be passed at load.
#pragma once

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// The function that precomputes values from weights for the other functions.
inline constexpr const char* kPrepareFunction = "prepare";

std::vector<std::string> weight_names(const Module& module);
std::vector<std::string> prepared_names(const Module& module);

// The functions that only a host calls and that take weights: names of those whose parameters
// lifting may change. Empty if the module names no weights.
std::set<std::string> functions_with_weights(const Module& module);

// Tells which parameters hold weights.
class WeightParameters {
 public:
  explicit WeightParameters(const Module& module);
  // Parameters of `function` of constant shape that hold a weight or a result of `prepare`.
  // `function` is one of functions_with_weights().
  std::unordered_set<const relax::VarNode*> of(const relax::Function& function) const;

 private:
  std::unordered_set<std::string> names_;
};

}  // namespace tapml::passes
