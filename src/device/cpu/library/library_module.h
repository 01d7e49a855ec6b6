// Modules of library calls (exec/library_code.h) on the cpu.
#pragma once

#include "device/cpu/library/host_library.h"
#include "runtime/device.h"

namespace tapml::device {

// Opens the libraries that the module's entries name: those in `libraries` by their names, else
// tapml's own. PlatformError (kAbsent) if a library or a routine is missing. A launch checks sizes
// against its buffers; a routine's failure is a UserError with the routine's name and message.
Result<std::shared_ptr<runtime::DeviceModule>> load_library_module(const ModuleBlob& blob,
                                                                   const HostLibraries& libraries,
                                                                   int threads) noexcept;

}  // namespace tapml::device
