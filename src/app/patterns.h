// Custom fusion: a file of patterns (docs/patterns.md).
#pragma once

#include <string>

#include "ir/module.h"

namespace tapml::app {

struct PatternOptions {
  std::string file;  // empty: none
  // The file's patterns; an empty module if there is no file.
  Module read() const;
  // Adds the file's patterns (build/pattern.h) to `module`, for the pipeline. UserError for
  // functions that are not patterns, and for names that the module already has.
  void apply(Module& module) const;
};

}  // namespace tapml::app
