// --tolerance of the commands that test kernels.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tapml::cli {

struct ToleranceOptions {
  std::string file;
  void add_to(CLI::App& command);
};

}  // namespace tapml::cli
