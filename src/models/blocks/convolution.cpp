#include "models/blocks/convolution.h"

#include "ir/exceptions.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

int64_t row_count(const Variable& x) {
  const relax::TensorAnnotation* tensor = relax::as_tensor(x->annotation);
  if (!tensor || !tensor->shape || tensor->shape->size() != 3 || !(*tensor->shape)[1].is_int()) {
    throw_internal("a convolution needs a constant number of rows");
  }
  return (*tensor->shape)[1]->int_value;
}

}  // namespace

// All windows beside each other, so that the convolution is one matrix product.
Variable convolution(Graph& g, const std::string& path, const Variable& x,
                     const ConvolutionConfig& c) {
  g.origin(path);
  const int64_t inputs = Graph::width(x), windows = (row_count(x) - 1) / c.stride + 1;
  const int64_t beyond = c.kernel / 2, last = (windows - 1) * c.stride + 1;
  const Variable padded =
      g.op("pad", {x}, {{"widths", std::vector<int64_t>{0, 0, beyond, beyond, 0, 0}}});
  std::vector<relax::Expr> taps;
  for (int64_t tap = 0; tap < c.kernel; ++tap) {
    taps.emplace_back(
        g.op("slice", {padded, make_shape({tap}), make_shape({tap + last})},
             {{"axes", std::vector<int64_t>{1}}, {"strides", std::vector<int64_t>{c.stride}}}));
  }
  const Variable all =
      g.op("concat", {relax::make_tuple(std::move(taps))}, {{"axis", int64_t{-1}}});
  Variable matrix = g.stored_weight({path + ".weight", {c.outputs, inputs, c.kernel}, {}});
  matrix = g.op("permute", {matrix}, {{"axes", std::vector<int64_t>{0, 2, 1}}});
  matrix = g.op("reshape", {matrix, make_shape({c.outputs, c.kernel * inputs})});
  AttrMap attrs = {{"transpose_b", true}};
  if (g.activations() != DType::kF32) attrs["out_dtype"] = g.activations();
  const Variable y = g.op("matmul", {all, matrix}, std::move(attrs));
  return g.narrowed(g.add(y, g.stored_weight({path + ".bias", {c.outputs}, {}})));
}

}  // namespace tapml::models
