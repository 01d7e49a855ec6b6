#include "models/blocks/embedding.h"

namespace tapml::models {

using relax::Variable;

namespace {

// Of the length of a row, as PyTorch's normalize() has it.
constexpr double kLeastSquare = 1e-24;

// 1 / the length of each row of a matrix, f32[rows]. The squares are a product of each row with
// itself, so that no matrix of them is made: it would be as large as the weight.
Variable inverse_lengths(Graph& g, const Variable& matrix, int64_t count) {
  const Variable rows =
      g.op("reshape", {matrix, relax::make_shape({count, 1, Graph::width(matrix)})});
  AttrMap attrs = {{"transpose_b", true}};
  if (relax::as_tensor(matrix->annotation)->dtype != DType::kF32) attrs["out_dtype"] = DType::kF32;
  Variable squares = g.op("matmul", {rows, rows}, std::move(attrs));
  squares = g.op("reshape", {squares, relax::make_shape({count})});
  return g.op("rsqrt", {g.op("maximum", {squares, g.number(kLeastSquare, DType::kF32)})});
}

// The row of embeddings of each token, i32[b, n, 1], or -1.
Variable rows_of_tokens(Graph& g) {
  return g.op("reshape", {g.placement(), relax::make_shape({g.batch(), g.tokens(), 1})});
}

// The vectors `level` of these rows, [b, n, width]; -1 is a row, too, which is not selected.
Variable vectors_of(Graph& g, const Variable& rows, int64_t width, int64_t level) {
  Variable all = g.embeddings();
  if (Graph::width(all) != width) {
    all = g.op("slice",
               {all, relax::make_shape({level * width}), relax::make_shape({(level + 1) * width})},
               {{"axes", std::vector<int64_t>{2}}});
  }
  const Variable wide =
      g.op("broadcast_to", {rows, relax::make_shape({g.batch(), g.tokens(), width})});
  return g.narrowed(g.op("gather", {all, wide}, {{"axis", int64_t{1}}}));
}

}  // namespace

Variable embed(Graph& g, const std::string& path, int64_t rows, int64_t hidden,
               const Variable& indices) {
  g.origin(path);
  return g.op("take", {g.weight({path + ".weight", {rows, hidden}, {}}), indices},
              {{"axis", int64_t{0}}, {"out_dtype", g.activations()}});
}

Variable embed_tokens(Graph& g, const std::string& path, int64_t vocabulary, int64_t hidden) {
  return embed(g, path, vocabulary, hidden, g.token_ids());
}

Variable embed_positions(Graph& g, const std::string& path, int64_t rows, int64_t hidden,
                         int64_t offset) {
  g.origin(path);
  Variable positions = g.positions();
  if (offset != 0) positions = g.add(positions, g.number(static_cast<double>(offset), DType::kI32));
  return embed(g, path, rows, hidden, positions);
}

Variable place_embeddings(Graph& g, const std::string& path, const Variable& x) {
  if (!g.placement()) return x;
  g.origin(path);
  const Variable row = rows_of_tokens(g);
  const Variable placed = vectors_of(g, row, Graph::width(x), 0);
  return g.op("where", {g.op("less", {row, Graph::number(0, DType::kI32)}), x, placed});
}

Variable add_embeddings(Graph& g, const std::string& path, const Variable& x, int64_t level) {
  if (!g.placement()) return x;
  g.origin(path);
  const Variable row = rows_of_tokens(g);
  const Variable sum = g.add(x, vectors_of(g, row, Graph::width(x), level));
  return g.op("where", {g.op("less", {row, Graph::number(0, DType::kI32)}), x, sum});
}

Variable head(Graph& g, const Variable& x, const HeadConfig& config) {
  g.origin(config.origin);
  AttrMap attrs = {{"transpose_b", true}};
  if (g.activations() != DType::kF32) attrs["out_dtype"] = DType::kF32;
  const WeightSpec spec{.name = config.weight + ".weight",
                        .shape = {config.vocabulary, Graph::width(x)},
                        .reorders = true};
  const Variable weight = g.weight(spec);
  const std::vector<relax::Expr> product = {g.quantized(g.ordered(x, spec), spec), weight};
  if (!config.bias && !config.normalized && config.scale == 1 && config.soft_cap == 0) {
    return g.result("matmul", product, std::move(attrs));
  }
  Variable logits = g.op("matmul", product, std::move(attrs));
  if (config.normalized) {
    logits = g.op("multiply", {logits, inverse_lengths(g, weight, config.vocabulary)});
  }
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
