// Shaders for Vulkan.
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

// GLSL of one function. PlatformError (kLimit) where it needs what the target has not: integers or
// floats of 64 bits, functions of f64, more scalars than push constants take.
std::string emit_glsl(const DeviceFunc& function, const target::Description& target,
                      Readers readers = Readers::kCompilers);

// SPIR-V 1.3 by shaderc, with what with_promises (spirv_words.h) adds, of GLSL from anywhere. Empty
// where it does not compile: `log` then has the compiler's text, which calls the source `name`.
std::vector<uint32_t> try_compile_glsl(const std::string& source, const std::string& name,
                                       const std::map<std::string, std::string>& macros,
                                       std::string& log);

// The same of GLSL that was generated; InternalError with the compiler's text.
std::vector<uint32_t> compile_glsl_to_spirv(const std::string& source, const std::string& name);

// A function's part of a module of format "spirv", little-endian: how many words of SPIR-V, how
// many buffers, how many bytes of push constants, the words. Buffers are bindings 0, 1, ... of set
// 0; push constants are the extent and the scalars, 32 bits each. The entry point is "main".
std::vector<std::byte> spirv_part(size_t buffers, size_t scalars,
                                  const std::vector<uint32_t>& words);

// Parts of all functions, in their order; shaders are made on `threads` (0: one a core), equal ones
// once. `watcher` is reported, from any thread, how many are.
std::vector<std::vector<std::byte>> compile_shaders(const std::vector<DeviceFunc>& functions,
                                                    const target::Description& target,
                                                    int threads = 0,
                                                    const WorkWatcher& watcher = {});

}  // namespace tapml::codegen
