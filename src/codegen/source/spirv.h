// SPIR-V shaders for Vulkan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/work.h"
#include "codegen/lower/device_func.h"
#include "codegen/source/emitter.h"
#include "exec/executable.h"
#include "target/target.h"

namespace tapml::codegen {

inline constexpr const char* kSpirvFormat = "spirv";

// GLSL of one function. PlatformError (kLimit) if it needs something that the target lacks: 64-bit
// integers or floats, f64 functions, more scalars than push constants hold.
std::string emit_glsl(const DeviceFunc& function, const target::Description& target,
                      Readers readers = Readers::kCompilers);

// Compiles any GLSL to SPIR-V 1.3 with shaderc and adds with_promises (spirv_words.h). Empty if it
// does not compile: `log` then has the compiler's output, in which the source is called `name`.
std::vector<uint32_t> try_compile_glsl(const std::string& source, const std::string& name,
                                       const std::map<std::string, std::string>& macros,
                                       std::string& log);

// The same for generated GLSL; throws InternalError with the compiler's output.
std::vector<uint32_t> compile_glsl_to_spirv(const std::string& source, const std::string& name);

// A function's part of a module of format "spirv", little-endian: number of SPIR-V words, number of
// buffers, bytes of push constants, the words. Buffers are bindings 0, 1, ... of set 0; push
// constants are the extent and the scalars, 32 bits each. The entry point is "main".
std::vector<std::byte> spirv_part(size_t buffers, size_t scalars,
                                  const std::vector<uint32_t>& words);

// Parts of all functions, in order. Shaders are compiled on `threads` threads (0: one a core),
// identical ones once. `watcher` receives the number of finished ones, from any thread.
std::vector<std::vector<std::byte>> compile_shaders(const std::vector<DeviceFunc>& functions,
                                                    const target::Description& target,
                                                    int threads = 0,
                                                    const WorkWatcher& watcher = {});

}  // namespace tapml::codegen
