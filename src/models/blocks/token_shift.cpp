#include "models/blocks/token_shift.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

Variable previous_tokens(Graph& g, const std::string& state_name, const Variable& x) {
  const int64_t width = Graph::width(x);
  const Var& b = g.batch();
  relax::Expr& state =
      g.state({.name = state_name, .kind = StateKind::kRecurrent, .shape = {width}});
  Variable before =
      g.op("take", {state, g.slots()}, {{"axis", int64_t{0}}, {"out_dtype", g.activations()}});
  before = g.op("reshape", {before, make_shape({b, 1, width})});
  Variable newest = x;
  if (!g.tokens().is_int(1)) {
    const auto part = [&](const PrimExpr& begin, const PrimExpr& end) {
      return g.op("slice", {x, make_shape({begin}), make_shape({end})},
                  {{"axes", std::vector<int64_t>{1}}});
    };
    const PrimExpr last = g.tokens() - 1;
    before = g.op("concat", {relax::make_tuple({before, part(0, last)})}, {{"axis", int64_t{1}}});
    newest = part(last, g.tokens());
  }
  newest = g.widened(g.op("reshape", {newest, make_shape({b, width})}));
  state = g.update("scatter_nd", {state, g.op("reshape", {g.slots(), make_shape({b, 1})}), newest});
  return before;
}

Variable interpolated(Graph& g, const Variable& from, const Variable& to, const Variable& share) {
  const Variable difference = g.op("subtract", {to, from});
  return g.narrowed(g.add(from, g.op("multiply", {difference, share})));
}

}  // namespace tapml::models
