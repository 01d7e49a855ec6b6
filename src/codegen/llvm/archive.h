// Private to codegen/llvm.
#pragma once

namespace tapml::codegen {

// ModuleBlob::format of archive_native().
inline constexpr const char* kArchiveFormat = "elf-archive";

}  // namespace tapml::codegen
