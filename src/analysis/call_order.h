// Which functions call which, directly or indirectly.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/module.h"

namespace tapml::analysis {

struct CallOrder {
  // Graph-level functions that are not kernels, each after all that it refers to, except those that
  // refer back to it.
  std::vector<std::string> functions;
  std::set<std::string> recursive;  // functions that refer to themselves, directly or indirectly
};

// Takes time linear in the size of the module.
CallOrder call_order(const Module& module);

}  // namespace tapml::analysis
