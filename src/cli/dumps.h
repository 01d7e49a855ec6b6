// --dump-ir and --dump-diff: the module after each pass, and the changes.
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

// With --dump-diff prints a line for each pass and its changes; passes.log in the folder of
// --dump-ir has the same lines.
class Dumps {
 public:
  Dumps(const DumpOptions& options, const Output& output) : options_(options), output_(output) {}
  Dumps(const Dumps&) = delete;
  Dumps& operator=(const Dumps&) = delete;

  // Must outlive code that runs under the instruments.
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
