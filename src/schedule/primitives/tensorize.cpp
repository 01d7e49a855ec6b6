// tensorize: see primitives.h.
#include <map>

#include "base/strings.h"
#include "ir/queries.h"
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "schedule/primitives/tensor_intrinsics.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// A perfect nest from a loop down to its block; `block` is null if the nest is not perfect.
struct Nest {
  std::vector<const ForNode*> loops;
  const BlockNode* block = nullptr;
  Stmt stmt;
};

Nest nest_at(const Stmt& stmt) {
  Nest nest;
  nest.stmt = stmt;
  Stmt at = stmt;
  while (at->kind == StmtKind::kFor) {
    nest.loops.push_back(&as<ForNode>(at));
    at = as<ForNode>(at).body;
  }
  if (at->kind == StmtKind::kBlock) nest.block = &as<BlockNode>(at);
  return nest;
}

// The part of an actual buffer that corresponds to a buffer of the intrinsic.
struct Tile {
  Buffer buffer;
  std::vector<PrimExpr> begins;
};

class Matcher {
 public:
  explicit Matcher(arith::Analyzer& analyzer) : analyzer_(analyzer) {}

  std::map<const BufferNode*, Tile> tiles;
  std::string reason;

  // `indices` over the tile's variables (those of the intrinsic's block) and outer ones.
  bool access(const Buffer& buffer, const std::vector<PrimExpr>& indices, const Buffer& wanted,
              const std::vector<PrimExpr>& wanted_indices) {
    if (buffer->dtype != wanted->dtype) {
      return fail(buffer->name + " is " + dtype_name(buffer->dtype) + ", not " +
                  dtype_name(wanted->dtype));
    }
    size_t rank = wanted_indices.size();
    if (indices.size() < rank) return fail(buffer->name + " has too few dimensions");
    size_t lead = indices.size() - rank;
    Tile tile{buffer, {}};
    for (size_t d = 0; d < indices.size(); ++d) {
      PrimExpr begin = d < lead ? indices[d] : indices[d] - wanted_indices[d - lead];
      begin = analyzer_.simplify(begin);
      if (uses_any(begin, tile_vars)) {
        return fail("index " + std::to_string(d) + " of " + buffer->name +
                    " does not run as the intrinsic's");
      }
      tile.begins.push_back(begin);
    }
    auto [it, is_new] = tiles.emplace(wanted.get(), tile);
    if (is_new) return true;
    bool same = it->second.buffer == buffer;
    for (size_t d = 0; same && d < tile.begins.size(); ++d) {
      same = analyzer_.prove_equal(it->second.begins[d], tile.begins[d]);
    }
    return same || fail(buffer->name + " is accessed at several tiles");
  }

  bool expr(const PrimExpr& e, const PrimExpr& wanted) {
    if (e.kind() != wanted.kind() || e.dtype() != wanted.dtype() ||
        (e.kind() != tapml::ExprKind::kLoad && e->operands.size() != wanted->operands.size())) {
      return fail("the value is not " + to_string(wanted));
    }
    switch (e.kind()) {
      case tapml::ExprKind::kLoad:
        return access(load_buffer(e), e->operands, load_buffer(wanted), wanted->operands);
      case tapml::ExprKind::kVar:
      case tapml::ExprKind::kInt:
      case tapml::ExprKind::kFloat:
        return same_expr(e, wanted) || fail("the value is not " + to_string(wanted));
      case tapml::ExprKind::kCall:
        if (e->name != wanted->name) return fail("the value is not " + to_string(wanted));
        break;
      default:
        break;
    }
    for (size_t i = 0; i < e->operands.size(); ++i) {
      if (!expr(e.operand(i), wanted.operand(i))) return false;
    }
    return true;
  }

  bool fail(std::string why) {
    if (reason.empty()) reason = std::move(why);
    return false;
  }

  std::set<const tapml::ExprNode*> tile_vars;

 private:
  arith::Analyzer& analyzer_;
};

Stmt on_tiles(const Stmt& implementation, const std::map<const BufferNode*, Tile>& tiles) {
  auto at = [](const Tile& tile, const std::vector<PrimExpr>& indices) {
    std::vector<PrimExpr> result = tile.begins;
    size_t lead = result.size() - indices.size();
    for (size_t d = 0; d < indices.size(); ++d) result[lead + d] = result[lead + d] + indices[d];
    return result;
  };
  auto on_expr = [&](const PrimExpr& root) {
    return rewrite_expr(root, [&](const PrimExpr& e) {
      if (e.kind() != tapml::ExprKind::kLoad) return PrimExpr();
      auto it = tiles.find(load_buffer(e).get());
      if (it == tiles.end()) return PrimExpr();
      return load(it->second.buffer, at(it->second, e->operands));
    });
  };
  auto on_stmt = [&](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore) return nullptr;
    const auto& store = as<StoreNode>(s);
    auto it = tiles.find(store.buffer.get());
    if (it == tiles.end()) return nullptr;
    return make_store(it->second.buffer, at(it->second, store.indices), store.value);
  };
  return rewrite(refresh_vars(implementation), on_expr, on_stmt);
}

}  // namespace

PrimFuncRef tensorize(const PrimFunc& func, const Var& loop_var, const std::string& name) {
  Site loop = find_loop(func, loop_var);
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("tensorize", "loop " + loop_var->name, reason, hint);
  };
  const TensorIntrinsic* intrinsic = find_tensor_intrinsic(name);
  if (!intrinsic) {
    no("unknown intrinsic " + name,
       "name one of " + join(tensor_intrinsics(), &TensorIntrinsic::name));
  }
  PrimFuncRef description = parse_intrinsic(intrinsic->description);
  Nest wanted = nest_at(description->body), found = nest_at(loop.stmt());
  if (!found.block)
    no("it is not a perfect nest of one block", "split and reorder to a tile first");
  const BlockNode& block = *found.block;
  const BlockNode& model = *wanted.block;
  const std::string tile_hint = "split by the intrinsic's extents and put these loops inside (" +
                                name + ": " + intrinsic->doc + ")";
  bool same_loops = found.loops.size() == wanted.loops.size();
  for (size_t i = 0; same_loops && i < found.loops.size(); ++i) {
    same_loops = same_expr(found.loops[i]->extent, wanted.loops[i]->extent);
    if (found.loops[i]->for_kind != ForKind::kSerial) {
      no("loop " + found.loops[i]->var->name + " is " + for_kind_name(found.loops[i]->for_kind),
         "tensorize before loops are marked");
    }
  }
  if (!same_loops) no("its loops do not have the extents of " + name, tile_hint);
  if (block.predicate) {
    no("block " + block.name + " has a predicate: tiles may be partial",
       "pad, or split a loop whose extent the tile divides");
  }
  if (block.init) {
    no("block " + block.name + " sets its initial value inside", "apply decompose_reduction first");
  }
  // Each iterator is outer * tile + the tile's loop; it becomes `outer`.
  Extents tile;
  VarMap tile_values;  // the matched loops as the intrinsic's iterators
  for (size_t i = 0; i < found.loops.size(); ++i) {
    tile[found.loops[i]->var.get()] = found.loops[i]->extent;
    tile_values[found.loops[i]->var.get()] = model.iters[i].var;
  }
  arith::Analyzer analyzer = context(func, loop);
  std::vector<Stmt> inner;
  {
    Site site = find_block(func, block.name);
    inner = site.loops();
    analyzer = context(func, inner);
  }
  for (const BlockIter& iter : model.iters) analyzer.bind_range(iter.var, iter.extent);
  BlockNode replaced;
  replaced.name = block.name;
  VarMap iterators;
  for (const BlockIter& iter : block.iters) {
    auto number = as_number(iter.binding, tile, analyzer);
    if (!number || number->digits.size() > 1) {
      no("iterator " + iter.var->name + " is not one tile loop over an outer position", tile_hint);
    }
    if (number->digits.empty()) {
      replaced.iters.push_back(iter);
      iterators[iter.var.get()] = iter.var;
      continue;
    }
    const Digit& digit = number->digits[0];
    for (size_t i = 0; i < found.loops.size(); ++i) {
      if (!found.loops[i]->var.same_as(digit.var)) continue;
      if (model.iters[i].type != iter.type) {
        no("iterator " + iter.var->name + " has another kind than the intrinsic's", tile_hint);
      }
    }
    PrimExpr size = digit.extent;
    PrimExpr position = analyzer.simplify(floordiv(number->base, size));
    PrimExpr count = analyzer.simplify(floordiv(iter.extent, size));
    if (!digit.scale.is_int(1) || digit.high || !analyzer.prove_equal(digit.low, 1) ||
        !analyzer.prove_equal(position * size, number->base) ||
        !analyzer.prove_equal(count * size, iter.extent)) {
      no("iterator " + iter.var->name + " is not cut into whole tiles", tile_hint);
    }
    Var var = make_var(iter.var->name, iter.var.dtype());
    replaced.iters.push_back({var, count, iter.type, position});
    iterators[iter.var.get()] = var * size + tile_values.at(digit.var.get());
  }
  if (block.body->kind != StmtKind::kStore) {
    no("block " + block.name + " is not one store", "take a block of one plain store");
  }
  Matcher matcher(analyzer);
  for (const BlockIter& iter : model.iters) matcher.tile_vars.insert(iter.var.get());
  const auto& store = as<StoreNode>(block.body);
  const auto& model_store = as<StoreNode>(model.body);
  std::vector<PrimExpr> indices;
  for (const PrimExpr& index : store.indices) {
    indices.push_back(tapml::substitute(index, iterators));
  }
  if (!matcher.access(store.buffer, indices, model_store.buffer, model_store.indices) ||
      !matcher.expr(tapml::substitute(store.value, iterators), model_store.value)) {
    no("block " + block.name + " does not compute " + name + ": " + matcher.reason, tile_hint);
  }
  // The implementation has its own buffers: match them by parameter, not by node.
  PrimFuncRef implementation = parse_intrinsic(intrinsic->implementation);
  std::map<const BufferNode*, Tile> tiles;
  for (size_t p = 0; p < description->params.size(); ++p) {
    tiles[implementation->params[p].buffer.get()] =
        matcher.tiles.at(description->params[p].buffer.get());
  }
  for (const auto& [a, first] : tiles) {
    for (const auto& [b, second] : tiles) {
      if (a != b && first.buffer == second.buffer) {
        no("buffer " + first.buffer->name + " corresponds to two of the intrinsic's", tile_hint);
      }
    }
  }
  replaced.body = on_tiles(implementation->body, tiles);
  return with_body(func, replace(func.body, loop.stmt(), make_block(std::move(replaced))));
}

}  // namespace tapml::schedule::primitives
