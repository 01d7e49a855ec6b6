// Operations of scalars as expressions of a C-like language, with the meaning of docs/semantics.md
// whatever the language's own is.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/source/dialect.h"

namespace tapml::codegen {

// Whether operand number `i` of arithmetic may be a float zero that a compiler sees: any divisor
// and dividend but literals of other values, and other operands that nothing loaded is in.
bool may_be_seen_zero(const PrimExpr& arithmetic, size_t i);

// Operands are given as text that has been emitted already; e says dtypes and constants. `index`:
// arithmetic of indices, which does not overflow.
class Operations {
 public:
  // `temporary` gives a name to a value that is used more than once; names and literals stay.
  using Temporary = std::function<std::string(const std::string& text, DType dtype)>;
  // `readable`: quotients by powers of two are written as such, and not as shifts.
  Operations(const Dialect& dialect, Temporary temporary, bool readable = false)
      : dialect_(dialect), temporary_(std::move(temporary)), readable_(readable) {}

  // `plain`: a quotient or remainder whose operands are not negative, the divisor positive.
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

}  // namespace tapml::codegen
