#include "models/blocks/linear.h"

namespace tapml::models {

using relax::Variable;

Variable linear(Graph& g, const std::string& path, const Variable& x, int64_t outputs,
                const LinearConfig& config) {
  g.origin(path);
  const int64_t inputs = Graph::width(x);
  AttrMap attrs;
  if (!config.transposed) attrs["transpose_b"] = true;
  // The product of two dtypes is f32.
  if (g.activations() != DType::kF32) attrs["out_dtype"] = g.activations();
  g.add_accumulation(attrs);
  const Shape shape = config.transposed ? Shape{inputs, outputs} : Shape{outputs, inputs};
  const bool is_quantized = !config.narrow && !config.transposed;
  Variable y =
      g.op("matmul", {x, g.weight({path + ".weight", shape, {}, is_quantized})}, std::move(attrs));
  if (!config.bias) return y;
  return g.narrowed(g.add(y, g.stored_weight({path + ".bias", {outputs}, {}})));
}

}  // namespace tapml::models
