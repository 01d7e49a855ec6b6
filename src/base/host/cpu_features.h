// Instruction-set extensions of the host processor, by LLVM's names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapml {

// The architecture of the features: "x86-64", "aarch64", ...
const char* cpu_architecture();

// The extensions that generated code can use and benefit from (both processor and operating system
// support them), sorted. Empty on architectures other than x86-64 and aarch64.
const std::vector<std::string>& cpu_features();

// The first of "+a,+b,..." that this machine lacks or that is unknown; empty when it has all of
// them.
std::string missing_cpu_feature(std::string_view features);

}  // namespace tapml
