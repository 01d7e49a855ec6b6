// Scalar operations as expressions of a C-like language, with the semantics of docs/semantics.md
// regardless of the language's own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/source/dialect.h"

namespace tapml::codegen {

// Whether operand number `i` of arithmetic may be a float zero visible to a compiler: any divisor
// or dividend except nonzero literals, and other operands that contain no loaded value.
bool may_be_seen_zero(const PrimExpr& arithmetic, size_t i);

// Operands are text that is already emitted; `e` provides dtypes and constants. `index`: index
// arithmetic, which does not overflow.
class Operations {
 public:
  // `temporary` names a value that is used more than once; names and literals are kept.
  using Temporary = std::function<std::string(const std::string& text, DType dtype)>;
  // `readable`: writes quotients by powers of two as such, not as shifts.
  Operations(const Dialect& dialect, Temporary temporary, bool readable = false)
      : dialect_(dialect), temporary_(std::move(temporary)), readable_(readable) {}

  // `plain`: a quotient or remainder with nonnegative operands and a positive divisor.
  std::string binary(const PrimExpr& e, const std::string& a, const std::string& b, bool index,
                     bool plain = false) const;
  std::string call(const PrimExpr& e, const std::vector<std::string>& args, bool index) const;

 private:
  struct Division {
    bool quotient, floor;
  };
  std::string rounded(const std::string& text, DType dtype) const;
  std::string extremum(ExprKind kind, const std::string& a, const std::string& b,
                       DType dtype) const;
  std::string division(const PrimExpr& e, const std::string& a, const std::string& b, Division kind,
                       bool index) const;
  std::string shift(const PrimExpr& e, const std::string& a, const std::string& b) const;
  std::string bits(const PrimExpr& e, const std::vector<std::string>& args) const;
  std::string sign(const std::string& text, DType dtype) const;

  const Dialect& dialect_;
  Temporary temporary_;
  bool readable_;
};

// Operators compute f16 in f32 and round each step. `e` as a sum, difference or product of f16
// values: rounded to f16, it is that of f16 arithmetic.
struct F16Operation {
  PrimExpr a;
  const char* op;
  PrimExpr b;
};
std::optional<F16Operation> f16_operation(const PrimExpr& e);

}  // namespace tapml::codegen
