// tapml kernel-worker: the process of kernels under test (app/isolation.h).
#include <CLI/CLI.hpp>

#include "app/isolation.h"
#include "cli/command.h"
#include "cli/options.h"

namespace tapml::cli {

void add_kernel_worker(Registration registration) {
  auto* command = registration.app.add_subcommand("kernel-worker", "Serve kernels under test");
  command->group("");  // hidden from help
  auto libraries = std::make_shared<LibraryFiles>();
  add_options(*command, *libraries);
  command->callback([libraries, registration] {
    registration.selected = [libraries] {
      serve_kernels(*libraries);
      return kDone;
    };
  });
}

}  // namespace tapml::cli
