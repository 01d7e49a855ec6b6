// Small products and copies with efficient CPU code, as pairs of programs: the pattern to find and
// its replacement.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tir/prim_func.h"

namespace tapml::schedule {

struct TensorIntrinsic {
  const char* name;
  const char* doc;
  // Both are programs "prim def f(...)" with the same parameters. `description` is one nest around
  // one block, with one iterator for each loop and constant extents; `implementation` has no
  // blocks.
  const char* description;
  const char* implementation;
};

std::span<const TensorIntrinsic> tensor_intrinsics();
const TensorIntrinsic* find_tensor_intrinsic(std::string_view name);

// Parses the text of either program.
tir::PrimFuncRef parse_intrinsic(const char* text);

}  // namespace tapml::schedule
