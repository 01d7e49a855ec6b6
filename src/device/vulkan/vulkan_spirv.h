// Parses and validates a module's SPIR-V before a driver sees it: drivers assume valid code.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "exec/executable.h"

namespace tapml::device {

// Numbers of the SPIR-V specification.
enum class SpirvCapability : uint32_t {
  kMatrix = 0,
  kShader = 1,
  kFloat16 = 9,
  kFloat64 = 10,
  kInt64 = 11,
  kInt16 = 22,
  kInt8 = 39,
  kGroupNonUniform = 61,  // also stands for the seven operation kinds after it
  kStorageBuffer16 = 4433,
  kStorageBuffer8 = 4448,
  kDenormPreserve = 4464,
  kDenormFlushToZero = 4465,
  kSignedZeroInfNanPreserve = 4466,
  kRoundingModeRTE = 4467,
};

// The specialization constants before it are the code's own (codegen/source/glsl.cpp).
inline constexpr uint32_t kFirstSizedShared = 1000;

struct SpirvFacts {
  std::set<uint32_t> capabilities;
  uint32_t group[3] = {1, 1, 1};  // work group size
  uint32_t bindings = 0;          // highest binding of set 0, plus one
  // The subgroup width that the kernel is made for, as a number of threads: specialization constant
  // 0, if it uses subgroups. 0: any.
  uint32_t subgroup_width = 0;
  // Shared buffers whose size the launcher gives: specialization constants from kFirstSizedShared
  // on.
  uint32_t sized_shared = 0;
};

// InternalError unless `words` are a complete module with a compute entry point "main" and all
// descriptors in set 0.
Result<SpirvFacts> read_spirv(std::span<const uint32_t> words, const std::string& entry);

// An entry of a module, as described in vulkan_device.h.
struct SpirvKernel {
  std::string name;
  std::vector<uint32_t> words;
  SpirvFacts facts;
  uint32_t buffers = 0;
  uint32_t push_bytes = 0;  // of push constants
};

// Adds DenormPreserve to `words`, which read_spirv() must accept: without it a driver may flush
// subnormals to zero. For 32-bit floats, and for those of 16 and 64 bits that are in `more` and in
// use. Unchanged if they specify the handling of subnormals themselves.
std::vector<uint32_t> with_denormals(std::span<const uint32_t> words,
                                     const std::set<uint32_t>& more = {});

// InternalError for bytes that are not a module of format "spirv".
Result<std::vector<SpirvKernel>> read_spirv_module(const ModuleBlob& blob);

}  // namespace tapml::device
