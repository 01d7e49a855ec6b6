// Calls for tests of deduction: the result as text, or the text of the error.
#pragma once

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "ir/symbol.h"
#include "op/operator.h"
#include "support/dtypes.h"

namespace tapml::op::testing {

using relax::Annotation;
using relax::Expr;
using tapml::testing::kBF16;
using tapml::testing::kBool;
using tapml::testing::kF16;
using tapml::testing::kF32;
using tapml::testing::kF64;
using tapml::testing::kI32;
using tapml::testing::kI64;
using tapml::testing::kI8;
using tapml::testing::kU64;
using Ints = std::vector<int64_t>;

inline Expr value(Annotation annotation) {
  return relax::make_variable("x", std::move(annotation));
}
inline Expr tensor(Dims shape, DType dtype = kF32) {
  return value(relax::tensor_annotation(std::move(shape), dtype));
}
inline Expr coarse(int ndim, std::optional<DType> dtype = kF32) {
  return value(relax::tensor_annotation_ndim(ndim, dtype));
}

inline std::string deduced(const char* op, std::vector<Expr> args, AttrMap attrs = {}) {
  Expr call = relax::make_op_call(op, std::move(args), std::move(attrs));
  return to_string(deduce(*relax::as<relax::CallNode>(call)));
}

// "message | expected | found" of the UserError.
inline std::string failure(const char* op, std::vector<Expr> args, AttrMap attrs = {}) {
  try {
    std::string text = deduced(op, std::move(args), std::move(attrs));
    return "no error: " + text;
  } catch (const CompilerException& e) {
    const Error& error = e.error();
    EXPECT_EQ(error.kind, ErrorKind::kUser);
    return error.message + " | " + error.expected + " | " + error.found;
  }
}

}  // namespace tapml::op::testing
