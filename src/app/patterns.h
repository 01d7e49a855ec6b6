// Custom fusion: a file of patterns (docs/patterns.md).
#pragma once

#include <string>

#include "ir/module.h"

namespace tapml::app {

struct PatternOptions {
  std::string file;  // empty: none
  // The file's patterns alone; an empty module where there is no file.
  Module read() const;
  // Puts the file's patterns (build/pattern.h) into `module`, where the pipeline finds them.
  // UserError for what is no pattern, and for names that the module has already.
  void apply(Module& module) const;
};

}  // namespace tapml::app
