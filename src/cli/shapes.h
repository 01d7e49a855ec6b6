// Fixed shapes from the command line: --bind FUNCTION.VARIABLE=VALUE.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace CLI {
class App;
}

namespace tapml::cli {

struct ShapeOptions {
  std::vector<std::string> bindings;  // "main.n=128"
  void add_to(CLI::App& command);
  // passes::bind_shapes(). UserError for a malformed binding.
  Module apply(const Module& module) const;
};

}  // namespace tapml::cli
