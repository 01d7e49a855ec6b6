// Processors for which LLVM can generate machine code: this machine's or another one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "abi/device_info.h"

namespace tapml::target {

// The features that code may use: the baseline of an architecture, and extensions.
struct Processor {
  std::string architecture;  // a name in architectures(), such as "x86-64"
  std::string features;      // LLVM's names, sorted: "+avx2,+fma"
};

// Vector registers.
struct VectorRegisters {
  int64_t bytes = 16;  // size of each
  int64_t count = 16;
};

// A supported architecture, with its names in LLVM and lld.
struct Architecture {
  const char* name;                   // as in cpu_architecture() (base/host/cpu_features.h)
  const char* triple;                 // of the system that runs the code
  const char* baseline;               // LLVM's name of a processor with only the baseline
  const char* linker;                 // lld's emulation
  VectorRegisters vectors;            // of the baseline
  std::vector<const char*> features;  // features that code may use, sorted
  const char* platform = "cpu";
};

const std::vector<Architecture>& architectures();
// Null for an unsupported architecture.
const Architecture* find_architecture(std::string_view name);
// The widest registers of the processor.
VectorRegisters vector_registers(const Processor& processor);

// Whether its code multiplies bytes faster than floats (the intrinsic dot4). False without an
// architecture.
bool has_byte_products(const Processor& processor);

// The processor that runs this program, with all of its features. Its architecture may be
// unsupported.
const Processor& host_processor();

// Parses `features`, as in "dotprod+fullfp16", of `architecture`, one of the cpu target's.
// UserError for unknown ones.
Processor parse_processor(std::string_view architecture, std::string_view features,
                          const std::string& where);

// The processor that a device reports, without unknown features. PlatformError (kAbsent) for an
// unsupported architecture.
Processor processor_of(const DeviceInfo& info, const std::string& where);

// The first feature of `wanted` ("+a,+b") that `features` lacks; empty if it has all.
std::string missing_feature(std::string_view wanted, std::string_view features);

}  // namespace tapml::target
