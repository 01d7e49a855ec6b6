// Small products and copies that the CPU has good code for, as pairs of programs: what is to be
// found and what takes its place.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tir/prim_func.h"

namespace tapml::schedule {

struct TensorIntrinsic {
  const char* name;
  const char* doc;
  // Both are programs "prim def f(...)" over the same parameters. `description` is one nest of one
  // block, loops and iterators one to one, all extents constant; `implementation` has no blocks.
  const char* description;
  const char* implementation;
};

std::span<const TensorIntrinsic> tensor_intrinsics();
const TensorIntrinsic* find_tensor_intrinsic(std::string_view name);

// The text of one of the two, parsed.
tir::PrimFuncRef parse_intrinsic(const char* text);

}  // namespace tapml::schedule
