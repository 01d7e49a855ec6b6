// Which values of a model's function are those at the ends of its published modules. Internal to
// reference_run/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relax/expr.h"
#include "tensor/host_tensor.h"

namespace tapml::topdown {

// An end of a module: what it reads or writes.
struct ModuleBoundary {
  std::string module;
  bool output = false;
};

struct ModuleBoundaries {
  // The origins of the function's bindings and all that these paths begin with, in order.
  std::vector<std::string> modules;
  // By variable. A module's output is the last float that a binding of the module or within it
  // makes; its input is the first float from outside that a binding of the module itself reads.
  std::map<const relax::VarNode*, std::vector<ModuleBoundary>> of;
  // The frequencies of the first `rope` that has constant ones, and the variable of that call; two
  // tables if it chooses one of them for each text.
  const relax::VarNode* rotated = nullptr;
  std::vector<HostTensor> frequencies;
  // Those of all such calls: layers may differ in them.
  std::vector<HostTensor> tables;
};

ModuleBoundaries module_boundaries(const relax::Function& function);

}  // namespace tapml::topdown
