// LLVM's back ends. Private to codegen/llvm.
#pragma once

#include <memory>
#include <string>

#include "target/processor.h"

namespace llvm {
class TargetMachine;
}

namespace tapml::codegen {

// Of all back ends that LLVM was built with; from any thread, again at no cost.
void initialize_back_ends();

// PlatformError (kAbsent) for an architecture that no code is made for, or that this LLVM lacks.
const target::Architecture& known_architecture(const target::Processor& processor);
std::unique_ptr<llvm::TargetMachine> make_vm(const target::Processor& processor);

// The processor that instructions are ordered for, which does not decide which there are: this
// machine's, where the architecture is the same; empty: any.
std::string tuning_of(const target::Processor& processor);

}  // namespace tapml::codegen
