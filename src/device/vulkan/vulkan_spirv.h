// What a module's SPIR-V says of itself, looked at before a driver sees it: drivers take what they
// are given for valid.
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
  kGroupNonUniform = 61,  // and seven kinds of operations after it
  kStorageBuffer16 = 4433,
  kStorageBuffer8 = 4448,
  kDenormPreserve = 4464,
  kDenormFlushToZero = 4465,
  kSignedZeroInfNanPreserve = 4466,
  kRoundingModeRTE = 4467,
};

struct SpirvFacts {
  std::set<uint32_t> capabilities;
  uint32_t group[3] = {1, 1, 1};  // work group's size
  uint32_t bindings = 0;          // highest binding of set 0, plus one
  // Of the subgroups that the kernel is made for, in which its threads are counted: specialization
  // constant 0, where it uses subgroups. 0: any will do.
  uint32_t subgroup_width = 0;
};

// InternalError unless `words` are a whole module with a compute entry point "main" whose
// descriptors are all of set 0.
Result<SpirvFacts> read_spirv(std::span<const uint32_t> words, const std::string& entry);

// An entry of a module, as vulkan_device.h describes it.
struct SpirvKernel {
  std::string name;
  std::vector<uint32_t> words;
  SpirvFacts facts;
  uint32_t buffers = 0;
  uint32_t push_bytes = 0;  // of push constants
};

// `words`, as read_spirv() accepts them, with DenormPreserve for floats of 32 bits: without it a
// driver may take numbers below the smallest normal one for zeros. Unchanged where they say
// themselves what becomes of such numbers.
std::vector<uint32_t> with_denormals(std::span<const uint32_t> words);

// InternalError for bytes that are not what a module of format "spirv" holds.
Result<std::vector<SpirvKernel>> read_spirv_module(const ModuleBlob& blob);

}  // namespace tapml::device
