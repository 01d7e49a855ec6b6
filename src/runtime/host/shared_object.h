// Host code as shared objects: loaded by the system's loader, without a compiler.
#pragma once

#include <memory>

#include "runtime/kernel_loader.h"

namespace tapml::runtime {

// Format of such modules.
inline constexpr const char* kSharedObjectFormat = "elf-shared";

// PlatformError (kAbsent) if `blob` was built for another processor architecture or for CPU
// features that this machine lacks. `blob` need not be a shared object.
Status check_host_code(const ModuleBlob& blob);

// Loads shared objects from memory, without using the file system.
std::shared_ptr<KernelLoader> make_shared_object_loader();

}  // namespace tapml::runtime
