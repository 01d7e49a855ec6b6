// LLVM's back ends. Private to codegen/llvm.
#pragma once

#include <memory>
#include <string>

#include "target/processor.h"

namespace llvm {
class TargetMachine;
}

namespace tapml::codegen {

// Initializes all back ends that LLVM was built with. Thread-safe; repeated calls are free.
void initialize_back_ends();

// PlatformError (kAbsent) for an architecture that is unsupported or missing from this LLVM.
const target::Architecture& known_architecture(const target::Processor& processor);
std::unique_ptr<llvm::TargetMachine> make_vm(const target::Processor& processor);

// The processor to schedule instructions for, which does not affect which instructions are used:
// this machine's if the architecture is the same; otherwise empty (generic).
std::string tuning_of(const target::Processor& processor);

}  // namespace tapml::codegen
