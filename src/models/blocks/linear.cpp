#include "models/blocks/linear.h"

namespace tapml::models {

using relax::Variable;

Variable linear(Graph& g, const std::string& path, const Variable& x, int64_t outputs,
                const LinearConfig& config) {
  g.origin(path);
  const int64_t inputs = Graph::width(x);
  const WeightSpec spec{
      .name = path + ".weight",
      .shape = config.transposed ? Shape{inputs, outputs} : Shape{outputs, inputs},
      .linear = !config.narrow && !config.transposed,
      .reorders = true,
      .transposed = config.transposed};
  AttrMap attrs;
  if (g.has_outputs_first(spec)) attrs["transpose_b"] = true;
  // The product of two dtypes is f32.
  if (g.activations() != DType::kF32) attrs["out_dtype"] = g.activations();
  g.add_accumulation(attrs);
  const Variable weight = g.weight(spec);
  const Variable input = g.quantized(g.ordered(x, spec), spec);
  Variable y = g.op("matmul", {input, weight}, std::move(attrs));
  if (!config.bias) return y;
  return g.narrowed(g.add(y, g.stored_weight({path + ".bias", {outputs}, {}})));
}

}  // namespace tapml::models
