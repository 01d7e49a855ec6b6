#include "models/blocks/pooling.h"

#include "ir/exceptions.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

constexpr const char* kLabel = "embeddings";
// Of the length of a vector, as PyTorch's normalize() has it.
constexpr double kLeastSquareOfVector = 1e-24;

const AttrMap kOverTokens = {{"axes", std::vector<int64_t>{1}}};

Variable first_token(Graph& g, const Variable& x) {
  const Variable first = g.op("slice", {x, make_shape({0}), make_shape({1})}, kOverTokens);
  return g.widened(g.op("reshape", {first, make_shape({g.batch(), Graph::width(x)})}));
}

// Tokens after the valid ones are selected away: times 0, an infinity of theirs would stay.
Variable mean_of_valid(Graph& g, const Variable& x) {
  const Variable counts = g.op("reshape", {g.valid_counts(), make_shape({g.batch(), 1, 1})});
  const Variable valid = g.op("less", {g.token_numbers({1, g.tokens(), 1}), counts});
  const Variable kept = g.op("where", {valid, g.widened(x), g.number(0, DType::kF32)});
  const Variable divisor =
      g.op("cast", {g.op("reshape", {g.valid_counts(), make_shape({g.batch(), 1})})},
           {{"dtype", DType::kF32}});
  return g.op("divide", {g.op("sum", {kept}, kOverTokens), divisor});
}

}  // namespace

Pooling find_pooling(std::string_view name) {
  if (name == "mean") return Pooling::kMean;
  if (name == "cls") return Pooling::kFirstToken;
  throw_user("unknown pooling", "--pooling", "mean or cls", std::string(name));
}

Variable pool(Graph& g, const Variable& x, const PoolingConfig& config) {
  g.origin("pooling");
  const Variable vector =
      config.pooling == Pooling::kMean ? mean_of_valid(g, x) : first_token(g, x);
  if (!config.normalized) return g.result("copy", {vector}, {}, kLabel);
  const Variable squares = g.op("sum", {g.op("multiply", {vector, vector})},
                                {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
  const Variable inverse =
      g.op("rsqrt", {g.op("maximum", {squares, g.number(kLeastSquareOfVector, DType::kF32)})});
  return g.result("multiply", {vector, inverse}, {}, kLabel);
}

}  // namespace tapml::models
