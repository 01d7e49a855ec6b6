// Instruction-set extensions of the processor at hand, by LLVM's names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapml {

// "x86-64", "aarch64", ...: what the features belong to.
const char* cpu_architecture();

// Extensions that code may use here (processor and operating system both have them), sorted, of
// those that generated code can gain from. Nothing on other architectures than x86-64 and aarch64.
const std::vector<std::string>& cpu_features();

// The first of "+a,+b,..." that this machine lacks or that nobody here knows; empty when it has
// all.
std::string missing_cpu_feature(std::string_view features);

}  // namespace tapml
