// Tensor programs written as text, and the errors that they cause.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "analysis/verifier.h"
#include "ir/exceptions.h"
#include "text/parser.h"
#include "tir/prim_func.h"

namespace tapml::interp {

// The only program of the text, whose violations of invariants are exactly `violations`.
inline tir::PrimFuncRef verified_program(const std::string& text,
                                         const std::string& violations = "") {
  const Module module = text::parse("module\n" + text, "test");
  std::string found;
  for (const auto& one : analysis::find_violations(module)) found += one.to_string();
  EXPECT_EQ(found, violations);
  return std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second);
}

inline std::string internal_error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kInternal);
    return e.error().message;
  }
  return "no error";
}

}  // namespace tapml::interp
