#include "models/blocks/xielu.h"

namespace tapml::models {

using relax::Variable;

Variable xielu(Graph& g, const std::string& path, const Variable& x) {
  g.origin(path);
  const auto scalar = [&](const char* name, const Shape& shape) {
    return g.widened(g.stored_weight({path + "." + name, shape, {}}));
  };
  const auto multiply = [&](const Variable& a, const Variable& b) {
    return g.op("multiply", {a, b});
  };
  const Variable beta = scalar("beta", {}), eps = scalar("eps", {});
  const Variable above = g.op("softplus", {scalar("alpha_p", {1})});
  const Variable below = g.add(beta, g.op("softplus", {scalar("alpha_n", {1})}));
  const Variable wide = g.widened(x);
  // The minimum keeps the part that is not chosen from overflowing.
  const Variable fall = g.op("subtract", {g.op("expm1", {g.op("minimum", {wide, eps})}), wide});
  const Variable is_above = g.op("greater", {wide, g.number(0, DType::kF32)});
  const Variable bend =
      g.op("where", {is_above, multiply(above, multiply(wide, wide)), multiply(below, fall)});
  return g.narrowed(g.add(multiply(beta, wide), bend));
}

}  // namespace tapml::models
