#include "models/blocks/image_positions.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

Variable op_with(Graph& g, const char* name, const Variable& x, int64_t number) {
  return g.op(name, {x, Graph::number(static_cast<double>(number), DType::kI32)});
}

// Of the tokens, f32[b, n, 1]; row and column are null where no token has an embedding.
struct Positions {
  Variable time, row, column;
};

Positions positions_of(Graph& g) {
  const int64_t grid = g.placed().grid, embeddings = grid * grid;
  relax::Expr& state =
      g.state({.name = "skipped_positions", .kind = StateKind::kRecurrent, .shape = {1}});
  const auto as_positions = [&](const Variable& x) {
    return g.op("reshape", {g.op("cast", {x}, {{"dtype", DType::kF32}}),
                            make_shape({g.batch(), g.tokens(), 1})});
  };
  const Variable before = g.op("take", {state, g.slots()}, {{"axis", int64_t{0}}});
  Variable time =
      g.op("subtract", {g.positions(), g.op("cast", {before}, {{"dtype", DType::kI32}})});
  if (!g.placement()) return {as_positions(time), {}, {}};
  const relax::Expr zero = Graph::number(0, DType::kI32);
  const Variable has_none = op_with(g, "less", g.placement(), 0);
  const Variable within = op_with(g, "mod", g.placement(), embeddings);
  const Variable place = g.op("where", {has_none, zero, within});
  const Variable is_last = op_with(g, "equal", within, embeddings - 1);
  const Variable skips = g.op(
      "where", {is_last, Graph::number(static_cast<double>(embeddings - grid), DType::kI32), zero});
  const Variable skipped = g.op("cumsum", {skips}, {{"axis", int64_t{1}}, {"exclusive", true}});
  time = g.op("subtract", {time, g.add(place, skipped)});
  const Variable all =
      g.op("sum", {skips}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", true}});
  const Variable after = g.add(before, g.op("cast", {all}, {{"dtype", DType::kF32}}));
  state = g.update("scatter_nd",
                   {state, g.op("reshape", {g.slots(), make_shape({g.batch(), 1})}), after});
  return {as_positions(time), as_positions(op_with(g, "floor_divide", place, grid)),
          as_positions(op_with(g, "floor_mod", place, grid))};
}

}  // namespace

Rope image_rope(Graph& g, const RopeConfig& config, int64_t head_dim,
                const ImageSections& sections) {
  Rope rope = make_rope(config, head_dim);
  if (g.placed().grid == 0) return rope;
  const Positions positions = positions_of(g);
  const auto pairs = static_cast<int64_t>(rope.frequencies.size());
  Variable turned = positions.time;
  const auto add = [&](const Variable& more, int64_t first, int64_t count) {
    if (!more) return;
    std::vector<float> is_turned(rope.frequencies.size());
    for (int64_t j = first; j < std::min(pairs, 3 * count); j += 3) {
      is_turned[static_cast<size_t>(j)] = 1;
    }
    turned = g.add(turned, g.op("multiply", {more, g.constant(is_turned)}));
  };
  add(positions.row, 1, sections.rows);
  add(positions.column, 2, sections.columns);
  Variable angles = g.op("multiply", {turned, g.constant(rope.frequencies)});
  angles = g.op("reshape", {angles, make_shape({g.batch(), g.tokens(), 1, pairs})});
  rope.cosine = g.scaled(g.op("cos", {angles}), rope.scale);
  rope.sine = g.scaled(g.op("sin", {angles}), rope.scale);
  return rope;
}

}  // namespace tapml::models
