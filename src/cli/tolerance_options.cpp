#include "cli/tolerance_options.h"

#include <CLI/CLI.hpp>

#include "base/log.h"

namespace tapml::cli {

void ToleranceOptions::add_to(CLI::App& command) {
  command.add_option("--tolerance", file,
                     "File of wider bounds for kernels, each with a reason (JSON)");
}

topdown::Tolerances ToleranceOptions::load() const {
  return file.empty() ? topdown::Tolerances() : topdown::Tolerances::load(file);
}

void warn_unused(const ToleranceOptions& options, const topdown::Tolerances& tolerances,
                 const std::set<std::string>& kernels) {
  for (const std::string& text : tolerances.unused_texts(kernels)) {
    log_warning(options.file + ": " + text);
  }
}

}  // namespace tapml::cli
