// Shapes of a kernel's tensors at the scalars of a call.
#pragma once

#include <optional>
#include <span>

#include "arith/evaluate.h"
#include "tensor/host_tensor.h"
#include "tir/prim_func.h"

namespace tapml::topdown {

// `scalars` are as many as the program's.
arith::Values scalar_values(const tir::PrimFunc& program, std::span<const int64_t> scalars);

// Nothing where a dimension has no value at these scalars, or one below 0.
std::optional<Shape> parameter_shape(const tir::Param& param, const arith::Values& values);

}  // namespace tapml::topdown
