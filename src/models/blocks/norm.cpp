#include "models/blocks/norm.h"

namespace tapml::models {

using relax::Expr;
using relax::Variable;

namespace {

Expr filled(Graph& g, int64_t width, float value) {
  return g.constant(std::vector<float>(static_cast<size_t>(width), value));
}

Expr factor(Graph& g, const std::string& path, int64_t width, const NormConfig& config) {
  if (config.weightless) return filled(g, width, 1);
  Variable weight = g.stored_weight({path + ".weight", {width}, {}});
  if (!config.one_plus_weight) return weight;
  return g.add(g.op("cast", {weight}, {{"dtype", DType::kF32}}), g.number(1, DType::kF32));
}

}  // namespace

Variable norm(Graph& g, const std::string& path, const Variable& x, const NormConfig& config) {
  g.origin(path);
  const int64_t width = Graph::width(x);
  const AttrMap attrs = {{"epsilon", config.epsilon}};
  if (config.kind == NormConfig::Kind::kRms) {
    return g.op("rms_norm", {x, factor(g, path, width, config)}, attrs);
  }
  Expr weight = factor(g, path, width, config);
  Expr bias =
      config.bias ? Expr(g.stored_weight({path + ".bias", {width}, {}})) : filled(g, width, 0);
  return g.op("layer_norm", {x, std::move(weight), std::move(bias)}, attrs);
}

}  // namespace tapml::models
