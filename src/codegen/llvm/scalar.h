// Scalar operations as LLVM IR, with the meaning of ir/intrinsics.h on every value: nothing here is
// undefined or poison. Private to codegen/llvm.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

#include "ir/expr.h"

namespace tapml::codegen {

// What LLVM does badly or wrongly for a processor. Where there are no instructions it would call
// functions, element by element;
// arithmetic on whole vectors is faster.
struct Lacks {
  bool f16 = false;  // conversions
  bool fma = false;
  // Right shifts of unsigned lanes of 8 and 16 bits, each by an amount of its own: LLVM 19 takes
  // the lanes apart for WebAssembly without clearing what products leave above them.
  bool narrow_shift = false;
};

// Values in registers: bool is i1, bf16 is its bits in i16, and so is f16 where the processor lacks
// it; the rest is LLVM's own type.
class ScalarOps {
 public:
  ScalarOps(llvm::IRBuilder<>& builder, const Lacks& lacks) : builder_(builder), lacks_(lacks) {}

  llvm::Type* register_type(DType dtype);
  llvm::Value* constant(const PrimExpr& e);  // kInt, kFloat

  // How much may be taken for granted of an operation.
  struct Freedom {
    bool index = false;       // i64 arithmetic that does not overflow
    bool plain = false;       // a quotient or remainder of what is not negative by what is positive
    bool accumulate = false;  // a float sum whose order is free
  };
  // Any of kAdd to kOr; both operands are `dtype`.
  llvm::Value* binary(ExprKind kind, DType dtype, llvm::Value* a, llvm::Value* b, Freedom freedom);
  llvm::Value* convert(llvm::Value* value, DType from, DType to);
  // An intrinsic; `from` is the dtype of its operands. Null where it has no machine code: portable
  // math in f32, which lower_math replaces.
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
  // f16 by its bits, from and to f32.
  llvm::Value* widen_f16(llvm::Value* bits);
  llvm::Value* round_to_f16(llvm::Value* value);
  llvm::Value* bits_of(llvm::Value* value);

  llvm::IRBuilder<>& builder_;
  const Lacks lacks_;
};

}  // namespace tapml::codegen
