// The tensor program of a text.
#pragma once

#include <memory>
#include <string>

#include "text/parser.h"
#include "tir/prim_func.h"

namespace tapml::testing {

// The function named k.
inline tir::PrimFuncRef parse_kernel(const std::string& source) {
  Module module = text::parse(source, "test");
  return std::static_pointer_cast<const tir::PrimFunc>(module.functions.at("k"));
}

}  // namespace tapml::testing
