// Libraries of the user: shared objects of routines that kernels may call (docs/libraries.md).
#pragma once

#include <string>
#include <vector>

#include "app/patterns.h"
#include "device/cpu/library/host_library.h"
#include "library/choose.h"

namespace tapml::app {

struct LibraryFiles {
  std::vector<std::string> files;
  // Loads each once. UserError for what is no library (tapml/library.h), and for two of one name.
  device::HostLibraries load() const;
};

// What compiling needs to know of them, with the patterns that name their routines.
library::LibraryOptions library_options(const device::HostLibraries& libraries,
                                        const PatternOptions& patterns);

}  // namespace tapml::app
