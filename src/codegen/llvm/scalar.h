// Scalar operations as LLVM IR, with the semantics of ir/intrinsics.h for every value: no result is
// undefined or poison. Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "ir/expr.h"

namespace tapml::codegen {

// Features that LLVM implements badly or wrongly for a processor. Without instructions it would
// call functions for each element; arithmetic on whole vectors is faster.
struct Lacks {
  bool f16 = false;  // conversions
  bool fma = false;
  // Right shifts of unsigned 8-bit and 16-bit lanes by per-lane amounts: for WebAssembly, LLVM 19
  // splits the vector without clearing the bits that products leave above each lane.
  bool narrow_shift = false;
};

// Values in registers: bool is i1; bf16, and f16 if the processor lacks it, is its bits in i16;
// everything else is LLVM's own type.
class ScalarOps {
 public:
  ScalarOps(llvm::IRBuilder<>& builder, const Lacks& lacks) : builder_(builder), lacks_(lacks) {}

  llvm::Type* register_type(DType dtype);
  llvm::Value* constant(const PrimExpr& e);  // kInt, kFloat

  // What an operation may assume.
  struct Freedom {
    bool index = false;  // i64 arithmetic does not overflow
    bool plain = false;  // quotient or remainder of a nonnegative dividend and a positive divisor
    bool accumulate = false;  // a float sum that may be reordered
  };
  // Any of kAdd to kOr; both operands have type `dtype`.
  llvm::Value* binary(ExprKind kind, DType dtype, llvm::Value* a, llvm::Value* b, Freedom freedom);
  llvm::Value* convert(llvm::Value* value, DType from, DType to);
  // An intrinsic; `from` is the dtype of its operands. Null if it has no machine code: f32 portable
  // math, which lower_math replaces.
  llvm::Value* call(const std::string& name, const std::vector<llvm::Value*>& args, DType from,
                    DType to);

 private:
  llvm::Value* float_binary(ExprKind kind, llvm::Value* a, llvm::Value* b, bool accumulate);
  llvm::Value* int_binary(ExprKind kind, DType dtype, llvm::Value* a, llvm::Value* b,
                          Freedom freedom);
  llvm::Value* extremum(ExprKind kind, llvm::Value* a, llvm::Value* b);
  llvm::Value* division(const std::string& kind, DType dtype, llvm::Value* a, llvm::Value* b,
                        bool index);
  llvm::Value* shift(const std::string& name, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* int_call(const std::string& name, const std::vector<llvm::Value*>& args,
                        DType dtype);
  llvm::Value* float_call(const std::string& name, const std::vector<llvm::Value*>& args);
  llvm::Value* libm_call(const std::string& name, const std::vector<llvm::Value*>& args);
  llvm::Value* round_to_bf16(llvm::Value* value);
  llvm::Value* fma(const std::vector<llvm::Value*>& args);
  // Converts f16, as bits, from and to f32.
  llvm::Value* widen_f16(llvm::Value* bits);
  llvm::Value* round_to_f16(llvm::Value* value);
  llvm::Value* bits_of(llvm::Value* value);

  llvm::IRBuilder<>& builder_;
  const Lacks lacks_;
};

}  // namespace tapml::codegen
