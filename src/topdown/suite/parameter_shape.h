// Shapes of a kernel's tensors for the scalars of a call.
#pragma once

#include <optional>
#include <span>

#include "arith/evaluate.h"
#include "tensor/host_tensor.h"
#include "tir/prim_func.h"

namespace tapml::topdown {

// `scalars` has one value for each scalar of the program.
arith::Values scalar_values(const tir::PrimFunc& program, std::span<const int64_t> scalars);

// Nothing if a dimension has no value for these scalars, or a negative one.
std::optional<Shape> parameter_shape(const tir::Param& param, const arith::Values& values);

}  // namespace tapml::topdown
