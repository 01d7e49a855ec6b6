// --tolerance of the commands that judge kernels.
#pragma once

#include <set>
#include <string>

#include "topdown/reference_run/tolerance.h"

namespace CLI {
class App;
}

namespace tapml::cli {

struct ToleranceOptions {
  std::string file;
  void add_to(CLI::App& command);
  topdown::Tolerances load() const;  // none without a file
};

// Warns of what applies to none of the kernels.
void warn_unused(const ToleranceOptions& options, const topdown::Tolerances& tolerances,
                 const std::set<std::string>& kernels);

}  // namespace tapml::cli
