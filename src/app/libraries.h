// Libraries of the user: shared objects of routines that kernels may call (docs/libraries.md).
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
  // Loads each once. UserError for what is no library (tapml/library.h), and for two of one name.
  device::HostLibraries load() const;
};

// What compiling needs to know of them, with the patterns that name their routines.
library::LibraryOptions library_options(const device::HostLibraries& libraries,
                                        const PatternOptions& patterns);

// Holds the calls of routines in a text module against their signatures, before it is compiled:
// UserError at the call's place in the text.
void check_routine_calls(const Module& module, const device::HostLibraries& libraries,
                         const text::SourceMap& places);

}  // namespace tapml::app
