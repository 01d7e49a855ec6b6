#include "models/blocks/embedding.h"

namespace tapml::models {

using relax::Variable;

namespace {

Variable rows_of(Graph& g, const WeightSpec& table, const Variable& indices) {
  return g.op("take", {g.stored_weight(table), indices},
              {{"axis", int64_t{0}}, {"out_dtype", g.activations()}});
}

}  // namespace

Variable embed_tokens(Graph& g, const std::string& path, int64_t vocabulary, int64_t hidden) {
  g.origin(path);
  return rows_of(g, {path + ".weight", {vocabulary, hidden}, {}}, g.token_ids());
}

Variable embed_positions(Graph& g, const std::string& path, int64_t rows, int64_t hidden,
                         int64_t offset) {
  g.origin(path);
  Variable positions = g.positions();
  if (offset != 0) positions = g.add(positions, g.number(static_cast<double>(offset), DType::kI32));
  return rows_of(g, {path + ".weight", {rows, hidden}, {}}, positions);
}

Variable head(Graph& g, const Variable& x, const HeadConfig& config) {
  g.origin(config.origin);
  AttrMap attrs = {{"transpose_b", true}};
  if (g.activations() != DType::kF32) attrs["out_dtype"] = DType::kF32;
  const std::vector<relax::Expr> product = {
      x, g.stored_weight({config.weight + ".weight", {config.vocabulary, Graph::width(x)}, {}})};
  if (!config.bias && config.scale == 1 && config.soft_cap == 0) {
    return g.result("matmul", product, std::move(attrs));
  }
  Variable logits = g.op("matmul", product, std::move(attrs));
  if (config.bias) {
    logits = g.add(
        logits, g.op("cast", {g.stored_weight({config.origin + ".bias", {config.vocabulary}, {}})},
                     {{"dtype", DType::kF32}}));
  }
  if (config.soft_cap == 0) {
    return config.scale == 1 ? g.result("cast", {logits}, {{"dtype", DType::kF32}})
                             : g.result("multiply", {logits, g.number(config.scale, DType::kF32)});
  }
  logits = g.op("tanh", {g.scaled(logits, config.scale / config.soft_cap)});
  return g.result("multiply", {logits, g.number(config.soft_cap, DType::kF32)});
}

}  // namespace tapml::models
