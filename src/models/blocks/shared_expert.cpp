#include "models/blocks/shared_expert.h"

namespace tapml::models {

using relax::Variable;

Variable experts_with_shared(Graph& g, const std::string& path, const Variable& x,
                             const ExpertConfig& config, int64_t shared_inner) {
  const Variable routed = experts(g, path, x, config);
  if (shared_inner == 0) return g.narrowed(routed);
  const Variable shared = gated_feed_forward(
      g, path + ".shared_expert", x, {.inner = shared_inner, .activation = config.activation});
  Variable gate = linear(g, path + ".shared_expert_gate", x, 1, {.narrow = true});
  g.origin(path);
  gate = g.op("sigmoid", {gate});
  return g.narrowed(g.add(routed, g.op("multiply", {shared, gate})));
}

}  // namespace tapml::models
