#include "models/blocks/channel_mix.h"

#include "models/blocks/feed_forward.h"

namespace tapml::models {

using relax::Variable;

Variable channel_mix(Graph& g, const std::string& path, const Variable& k, const Variable& r,
                     int64_t inner) {
  const int64_t width = Graph::width(r);
  Variable up = linear(g, path + ".key", k, inner);
  g.origin(path);
  up = activate(g, up, Activation::kSquaredRelu);
  const Variable value = linear(g, path + ".value", up, width);
  const Variable gate = linear(g, path + ".receptance", r, width);
  g.origin(path);
  return g.op("multiply", {g.op("sigmoid", {gate}), value});
}

}  // namespace tapml::models
