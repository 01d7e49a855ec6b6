// User libraries: shared objects of routines that kernels may call (docs/libraries.md).
#pragma once

#include <string>
#include <vector>

#include "app/patterns.h"
#include "device/cpu/library/host_library.h"
#include "library/choose.h"
#include "text/source_map.h"

namespace tapml::app {

struct LibraryFiles {
  std::vector<std::string> files;
  // Loads each once. UserError for a file that is not a library (tapml/library.h), and for two with
  // one name.
  device::HostLibraries load() const;
};

// The compiler's options for them, with the patterns that name their routines.
library::LibraryOptions library_options(const device::HostLibraries& libraries,
                                        const PatternOptions& patterns);

// Checks the calls of routines in a text module against their signatures, before it is compiled:
// UserError with the position of the call in the text.
void check_routine_calls(const Module& module, const device::HostLibraries& libraries,
                         const text::SourceMap& places);

}  // namespace tapml::app
