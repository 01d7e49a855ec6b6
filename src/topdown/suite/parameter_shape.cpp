#include "topdown/suite/parameter_shape.h"

namespace tapml::topdown {

arith::Values scalar_values(const tir::PrimFunc& program, std::span<const int64_t> scalars) {
  arith::Values values;
  for (size_t i = 0; i < program.scalars.size(); ++i) {
    values[program.scalars[i].get()] = scalars[i];
  }
  return values;
}

std::optional<Shape> parameter_shape(const tir::Param& param, const arith::Values& values) {
  Shape shape;
  for (const PrimExpr& dim : param.buffer->shape) {
    const auto extent = arith::evaluate(dim, values);
    if (!extent || *extent < 0) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

}  // namespace tapml::topdown
