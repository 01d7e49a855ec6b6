#include "models/blocks/per_layer_embedding.h"

#include <cmath>

#include "models/blocks/embedding.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

std::vector<Variable> per_layer_embeddings(Graph& g, const Variable& x,
                                           const PerLayerConfig& config) {
  const int64_t all = config.layers * config.width;
  const auto by_layer = [&](const Variable& y) {
    return g.op("reshape", {y, make_shape({g.batch(), g.tokens(), config.layers, config.width})});
  };
  const std::string table = "model.embed_tokens_per_layer";
  g.origin(table);
  Variable tokens = g.token_ids();
  if (config.is_partial) {
    const auto rows = g.number(static_cast<double>(config.rows), DType::kI32);
    const Variable is_row = g.op("less", {tokens, rows});
    tokens = g.op("where", {is_row, tokens, g.number(0, DType::kI32)});
  }
  Variable own = embed(g, table, config.rows, all, tokens);
  own = g.scaled(own, std::sqrt(static_cast<double>(config.width)));
  Variable projected = linear(g, "model.per_layer_model_projection", x, all);
  g.origin("model");
  projected = g.scaled(projected, 1 / std::sqrt(static_cast<double>(Graph::width(x))));
  projected = norm(g, "model.per_layer_projection_norm", by_layer(projected), config.norm);
  g.origin("model");
  const Variable sum = g.scaled(g.add(projected, by_layer(own)), std::sqrt(0.5));
  const Variable parts = g.op("split", {sum}, {{"axis", int64_t{2}}, {"sections", config.layers}});
  std::vector<Variable> embeddings;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    embeddings.push_back(g.op(
        "reshape", {g.field(parts, layer), make_shape({g.batch(), g.tokens(), config.width})}));
  }
  return embeddings;
}

Variable per_layer_part(Graph& g, const std::string& path, const Variable& x,
                        const Variable& embedding, const PerLayerConfig& config) {
  Variable y = linear(g, path + ".per_layer_input_gate", x, config.width);
  g.origin(path + ".act_fn");
  y = activate(g, y, config.activation);
  g.origin(path);
  y = g.op("multiply", {y, embedding});
  y = linear(g, path + ".per_layer_projection", y, Graph::width(x));
  return norm(g, path + ".post_per_layer_input_norm", y, config.norm);
}

}  // namespace tapml::models
