// The intrinsic dot4 as machine code. LLVM's vectorizer does not know the instructions that
// multiply bytes and add the products to a word, so dot4 stays a call until loops are vectorized:
// the call names functions of 4, 8 and 16 lanes, which the vectorizer takes in its place. None of
// them has a body; lower_byte_dots() replaces the calls. Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

namespace llvm {
class TargetMachine;
}

namespace tapml::codegen {

// c + the sum of u8(a) * i8(b) over the four bytes of each; the arguments are a, b and c, in i32.
llvm::Value* call_byte_dot(llvm::IRBuilder<>& builder, const std::vector<llvm::Value*>& args);

// Replaces all calls by instructions of the processor. Returns whether there were any.
bool lower_byte_dots(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace tapml::codegen
