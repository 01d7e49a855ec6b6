#include "models/blocks/cross_attention.h"

#include <cmath>

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

relax::Expr& cross_state(Graph& g, const char* name, int64_t layer, const CrossAttentionConfig& c) {
  return g.state({.name = name + std::to_string(layer),
                  .kind = StateKind::kFixed,
                  .shape = {c.rows, c.heads, c.head_dim}});
}

// b * n
PrimExpr token_count(const Graph& g) {
  return g.tokens().is_int(1) ? PrimExpr(g.batch()) : g.batch() * g.tokens();
}

}  // namespace

void set_cross_state(Graph& g, int64_t layer, const Variable& keys, const Variable& values,
                     const CrossAttentionConfig& config) {
  const Variable slots = g.op("reshape", {g.slots(), make_shape({g.batch(), 1})});
  const auto set = [&](const char* name, const Variable& made) {
    relax::Expr& state = cross_state(g, name, layer, config);
    Variable updates = made;
    if (g.cache() != g.activations()) updates = g.op("cast", {made}, {{"dtype", g.cache()}});
    state = g.update("scatter_nd", {state, slots, updates});
  };
  set("cross_k.", keys);
  set("cross_v.", values);
}

// The state of a slot is a page of the cache that attention reads. Each token is a text of its own,
// which ends with the last row, so that it sees all of them.
CrossRows cross_rows(Graph& g, int64_t rows) {
  Variable table = g.op("reshape", {g.slots(), make_shape({g.batch(), 1})});
  if (!g.tokens().is_int(1)) {
    table = g.op("broadcast_to", {table, make_shape({g.batch(), g.tokens()})});
    table = g.op("reshape", {table, make_shape({token_count(g), 1})});
  }
  const Variable lengths = g.op("full", {make_shape({token_count(g)})},
                                {{"value", static_cast<double>(rows - 1)}, {"dtype", DType::kI32}});
  return {table, lengths};
}

Variable cross_attend(Graph& g, int64_t layer, const std::string& path, const Variable& queries,
                      const CrossRows& rows, const CrossAttentionConfig& config) {
  g.origin(path);
  const Variable q =
      g.op("reshape", {queries, make_shape({token_count(g), 1, config.heads, config.head_dim})});
  const relax::Expr keys = cross_state(g, "cross_k.", layer, config);
  const relax::Expr values = cross_state(g, "cross_v.", layer, config);
  const double scale = 1 / std::sqrt(static_cast<double>(config.head_dim));
  const Variable mixed =
      g.op("paged_attention", {q, keys, values, rows.table, rows.lengths}, {{"scale", scale}});
  return g.op("reshape",
              {mixed, make_shape({g.batch(), g.tokens(), config.heads * config.head_dim})});
}

}  // namespace tapml::models
