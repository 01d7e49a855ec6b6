// --dump-ir and --dump-diff: what each pass makes of the module, and what it changed.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "pipeline/compile.h"

namespace CLI {
class App;
}

namespace tapml::cli {

struct DumpOptions {
  std::string folder;
  bool diff = false;
  void add_to(CLI::App& command);
  bool on() const { return diff || !folder.empty(); }
};

// With --dump-diff prints a line for each pass and what it changed; in the folder of --dump-ir
// passes.log has the same lines.
class Dumps {
 public:
  Dumps(const DumpOptions& options, const Output& output) : options_(options), output_(output) {}
  Dumps(const Dumps&) = delete;
  Dumps& operator=(const Dumps&) = delete;

  // Outlives what runs under the instruments.
  void attach(pipeline::Instruments& instruments);
  Json json() const;  // an array, or null without the options

 private:
  void tell(const pipeline::PassEffect& effect);

  const DumpOptions& options_;
  const Output& output_;
  std::string lines_;
  std::vector<Json> effects_;
};

}  // namespace tapml::cli
