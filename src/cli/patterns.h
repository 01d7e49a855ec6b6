// Custom fusion as the commands use it: --patterns FILE.
#pragma once

#include <string>

#include "ir/module.h"

namespace CLI {
class App;
}

namespace tapml::cli {

// --patterns of a subcommand that compiles a model.
struct PatternOptions {
  std::string file;  // empty: none
  void add_to(CLI::App& command);
  // The file's patterns alone; an empty module where there is no file.
  Module read() const;
  // Puts the file's patterns (build/pattern.h) into `module`, where the pipeline finds them.
  // UserError for what is no pattern, and for names that the module has already.
  void apply(Module& module) const;
};

}  // namespace tapml::cli
