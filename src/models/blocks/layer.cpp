#include "models/blocks/layer.h"

namespace tapml::models {

using relax::Variable;

Variable pre_norm_layer(Graph& g, const std::string& path, const Variable& x,
                        const NormConfig& config, const Part& mix, const Part& feed) {
  const Variable mixed = mix(norm(g, path + ".input_layernorm", x, config));
  const Variable sum = residual(g, path, x, mixed);
  const Variable fed = feed(norm(g, path + ".post_attention_layernorm", sum, config));
  return residual(g, path, sum, fed);
}

Variable parallel_layer(Graph& g, const std::string& path, const Variable& x,
                        const NormConfig& config, const Part& mix, const Part& feed) {
  const Variable y = norm(g, path + ".input_layernorm", x, config);
  const Variable mixed = mix(y);
  const Variable fed = feed(y);
  return residual(g, path, residual(g, path, x, mixed), fed);
}

}  // namespace tapml::models
