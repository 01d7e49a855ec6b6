#include "models/blocks/shared_expert.h"

namespace tapml::models {

using relax::Variable;

Variable experts_with_shared(Graph& g, const std::string& path, const Variable& x,
                             const ExpertConfig& config, const SharedExpertConfig& shared) {
  const Variable routed = experts(g, path, x, config);
  if (shared.inner == 0) return g.narrowed(routed);
  Variable beside = gated_feed_forward(
      g, path + "." + shared.name, x,
      {.inner = shared.inner, .activation = config.activation, .bias = shared.bias});
  if (shared.gated) {
    const Variable gate = linear(g, path + ".shared_expert_gate", x, 1, {.narrow = true});
    g.origin(path);
    beside = g.op("multiply", {beside, g.op("sigmoid", {gate})});
  }
  g.origin(path);
  return g.narrowed(g.add(routed, beside));
}

}  // namespace tapml::models
