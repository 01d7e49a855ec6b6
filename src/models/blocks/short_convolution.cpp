#include "models/blocks/short_convolution.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

Variable rows(Graph& g, const Variable& x, int64_t axis, const PrimExpr& begin,
              const PrimExpr& end) {
  return g.op("slice", {x, make_shape({begin}), make_shape({end})},
              {{"axes", std::vector<int64_t>{axis}}});
}

// The inputs that the first token sees, then x: [b, kernel - 1 + n, d]. The newest of them become
// the state, of which some are older than x if x is short.
Variable window_of(Graph& g, const std::string& state_name, const Variable& x, int64_t before) {
  if (before == 0) return x;
  relax::Expr& state = g.state(
      {.name = state_name, .kind = StateKind::kRecurrent, .shape = {before, Graph::width(x)}});
  const Variable old =
      g.op("take", {state, g.slots()}, {{"axis", int64_t{0}}, {"out_dtype", g.activations()}});
  const Variable window = g.op("concat", {relax::make_tuple({old, x})}, {{"axis", int64_t{1}}});
  const Variable newest = g.widened(rows(g, window, 1, g.tokens(), g.tokens() + before));
  const Variable slots = g.op("reshape", {g.slots(), make_shape({g.batch(), 1})});
  state = g.update("scatter_nd", {state, slots, newest});
  return window;
}

}  // namespace

Variable short_convolution(Graph& g, const std::string& state, const std::string& path,
                           const Variable& x, const ShortConvolutionConfig& config) {
  g.origin(path);
  const int64_t width = Graph::width(x), kernel = config.kernel;
  const Variable window = window_of(g, state, x, kernel - 1);
  // [kernel, d]: a tap is a row, which broadcasts over tokens.
  Variable taps = g.stored_weight({path + ".weight", {width, 1, kernel}, {}});
  taps = g.op("reshape", {g.widened(taps), make_shape({width, kernel})});
  taps = g.op("permute", {taps}, {{"axes", std::vector<int64_t>{1, 0}}});
  Variable y;
  for (int64_t tap = 0; tap < kernel; ++tap) {
    const Variable seen = kernel == 1 ? x : rows(g, window, 1, tap, g.tokens() + tap);
    const Variable part = g.op("multiply", {g.widened(seen), rows(g, taps, 0, tap, tap + 1)});
    y = tap == 0 ? part : g.add(y, part);
  }
  if (config.bias) y = g.add(y, g.stored_weight({path + ".bias", {width}, {}}));
  return g.narrowed(y);
}

}  // namespace tapml::models
