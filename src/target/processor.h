// Processors that machine code is made for: by LLVM, for this machine or for another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "abi/device_info.h"

namespace tapml::target {

// What code may rely on: the baseline of an architecture, and extensions.
struct Processor {
  std::string architecture;  // "x86-64": a name of architectures()
  std::string features;      // "+avx2,+fma", by LLVM's names, sorted
};

// Registers that hold vectors.
struct VectorRegisters {
  int64_t bytes = 16;  // of each
  int64_t count = 16;
};

// An architecture that code is made for, as LLVM and lld name it.
struct Architecture {
  const char* name;                   // as cpu_architecture() (base/host/cpu_features.h) says it
  const char* triple;                 // of the system that the code runs on
  const char* baseline;               // LLVM's processor that has the baseline and nothing else
  const char* linker;                 // lld's emulation
  VectorRegisters vectors;            // of the baseline
  std::vector<const char*> features;  // those that code may use, sorted
  const char* platform = "cpu";
};

const std::vector<Architecture>& architectures();
// Null where no code is made for it.
const Architecture* find_architecture(std::string_view name);
// The widest that the processor has.
VectorRegisters vector_registers(const Processor& processor);

// The one that this program runs on, with all that it has. Its architecture may be one that no code
// is made for.
const Processor& host_processor();

// `features`, as in "dotprod+fullfp16", of `architecture`, one of the cpu's. UserError for what is
// not known.
Processor parse_processor(std::string_view architecture, std::string_view features,
                          const std::string& where);

// What a device says of itself, without features that are not known here. PlatformError (kAbsent)
// for an architecture that no code is made for.
Processor processor_of(const DeviceInfo& info, const std::string& where);

// The first of "+a,+b" in `wanted` that `features` lacks; empty where it has all.
std::string missing_feature(std::string_view wanted, std::string_view features);

}  // namespace tapml::target
