// Which functions call which, at whatever distance.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/module.h"

namespace tapml::analysis {

struct CallOrder {
  // Graph-level functions that are no kernels, each after all that it refers to, but for those that
  // refer back to it.
  std::vector<std::string> functions;
  std::set<std::string> recursive;  // those that refer to themselves at some distance
};

// In time linear in the size of the module.
CallOrder call_order(const Module& module);

}  // namespace tapml::analysis
