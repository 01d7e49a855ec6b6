#include "models/blocks/altup.h"

#include "models/blocks/linear.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

// The root of the mean square over the last dimension, which stays.
Variable length(Graph& g, const Variable& x, double least_square) {
  Variable square = g.op("mean", {g.op("square", {g.widened(x)})},
                         {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
  if (least_square > 0) square = g.op("maximum", {square, g.number(least_square, DType::kF32)});
  return g.op("sqrt", {square});
}

// x times the matrix at `path`, at the length `target`.
Variable projected(Graph& g, const std::string& path, const Variable& x, const Variable& target) {
  constexpr double kLeastSquare = 1e-5;
  const Variable y = linear(g, path, x, Graph::width(x));
  g.origin("model");
  const Variable factor = g.op("divide", {target, length(g, y, kLeastSquare)});
  return g.narrowed(g.op("multiply", {y, factor}));
}

// Shares of the streams, [b, n, streams], by tokens x.
Variable modalities(Graph& g, const std::string& path, const Variable& x,
                    const AltUpConfig& config) {
  Variable y = norm(g, path + ".router_norm", x, config.norm);
  g.origin(path);
  y = g.scaled(y, 1 / static_cast<double>(Graph::width(x)));
  y = linear(g, path + ".modality_router", y, config.streams, {.narrow = true});
  g.origin(path);
  return g.op("tanh", {y});
}

}  // namespace

Variable altup_stream(Graph& g, const Variable& streams, int64_t index) {
  const Variable one = g.op("slice", {streams, make_shape({index}), make_shape({index + 1})},
                            {{"axes", std::vector<int64_t>{2}}});
  return g.op("reshape", {one, make_shape({g.batch(), g.tokens(), Graph::width(streams)})});
}

Variable altup_streams(Graph& g, const Variable& x, const AltUpConfig& config) {
  g.origin("model");
  const Variable target = length(g, x, 0);
  std::vector<relax::Expr> streams = {x};
  for (int64_t i = 0; i + 1 < config.streams; ++i) {
    streams.push_back(projected(g, "model.altup_projections." + std::to_string(i), x, target));
  }
  return g.op("stack", {relax::make_tuple(std::move(streams))}, {{"axis", int64_t{2}}});
}

Variable altup_mean(Graph& g, const Variable& streams, const AltUpConfig& config) {
  g.origin("model");
  Variable sum = altup_stream(g, streams, 0);
  const Variable target = length(g, sum, 0);
  for (int64_t i = 0; i + 1 < config.streams; ++i) {
    const std::string path = "model.altup_unembed_projections." + std::to_string(i);
    sum = g.add(sum, projected(g, path, altup_stream(g, streams, i + 1), target));
  }
  return g.scaled(sum, 1 / static_cast<double>(config.streams));
}

Variable altup_predict(Graph& g, const std::string& path, const Variable& streams,
                       const AltUpConfig& config) {
  const int64_t count = config.streams;
  g.origin(path);
  const Variable shares = modalities(g, path, altup_stream(g, streams, config.active), config);
  Variable factors = linear(g, path + ".prediction_coefs", shares, count * count, {.narrow = true});
  g.origin(path);
  factors = g.op("reshape", {factors, make_shape({g.batch(), g.tokens(), count, count})});
  return g.add(streams, g.op("matmul", {factors, streams}));
}

Variable altup_correct(Graph& g, const std::string& path, const Variable& predictions,
                       const Variable& result, const AltUpConfig& config) {
  const int64_t hidden = Graph::width(result);
  const Variable shares = modalities(g, path, result, config);
  Variable factors =
      linear(g, path + ".correction_coefs", shares, config.streams, {.narrow = true});
  g.origin(path);
  factors = g.add(factors, g.number(1, g.activations()));
  factors = g.op("reshape", {factors, make_shape({g.batch(), g.tokens(), config.streams, 1})});
  Variable news = g.op("subtract", {result, altup_stream(g, predictions, config.active)});
  news = g.op("reshape", {news, make_shape({g.batch(), g.tokens(), 1, hidden})});
  return g.add(predictions, g.op("multiply", {news, factors}));
}

Variable altup_add_to_others(Graph& g, const Variable& streams, const Variable& x,
                             const AltUpConfig& config) {
  std::vector<float> is_other(static_cast<size_t>(config.streams), 1);
  is_other[0] = 0;
  const Variable factors = g.op("reshape", {g.constant(is_other), make_shape({config.streams, 1})});
  const Variable row =
      g.op("reshape", {x, make_shape({g.batch(), g.tokens(), 1, Graph::width(x)})});
  return g.add(streams, g.narrowed(g.op("multiply", {row, factors})));
}

}  // namespace tapml::models
