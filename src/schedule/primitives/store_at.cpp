// store_at: see primitives.h.
#include <algorithm>

#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// `block` with accesses to `from` shifted by `begins`; loop variables in these become iterators.
Stmt shifted(const BlockNode& old, const Buffer& from, const Buffer& to,
             const std::vector<PrimExpr>& begins, const Extents& loops) {
  BlockNode block = old;
  VarMap iterators;
  for (const PrimExpr& begin : begins) {
    for (const Var& var : free_vars(begin)) {
      auto loop = loops.find(var.get());
      if (loop == loops.end() || iterators.contains(var.get())) continue;
      Var iter = make_var("v" + var->name, var.dtype());
      iterators[var.get()] = iter;
      block.iters.push_back({iter, loop->second, IterType::kSpatial, var});
    }
  }
  auto moved = [&](const std::vector<PrimExpr>& indices) {
    arith::Analyzer analyzer;
    std::vector<PrimExpr> result;
    for (size_t d = 0; d < indices.size(); ++d) {
      result.push_back(analyzer.simplify(indices[d] - tapml::substitute(begins[d], iterators)));
    }
    return result;
  };
  auto on_expr = [&](const PrimExpr& root) {
    return rewrite_expr(root, [&](const PrimExpr& e) {
      if (!is_load_of(e, from)) return PrimExpr();
      return load(to, moved(e->operands));
    });
  };
  auto on_stmt = [&](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore || as<StoreNode>(s).buffer != from) return nullptr;
    return make_store(to, moved(as<StoreNode>(s).indices), as<StoreNode>(s).value);
  };
  if (block.init) block.init = rewrite(block.init, on_expr, on_stmt);
  block.body = rewrite(block.body, on_expr, on_stmt);
  return make_block(std::move(block));
}

}  // namespace

PrimFuncRef store_at(const PrimFunc& func, const std::string& name, const Var& loop_var,
                     const std::string& scope_text) {
  Site site = find_block(func, name);
  Site loop = find_loop(func, loop_var);
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("store_at", "block " + name, reason, hint);
  };
  Scope scope = Scope::kLocal;
  if (scope_text == "shared") {
    scope = Scope::kShared;
  } else if (scope_text != "local") {
    no("unknown scope " + scope_text, "name local or shared");
  }
  Buffer buffer = written_by(site.block());
  if (!buffer) no("it writes several buffers", "take a block that writes one");
  Site alloc = find_alloc(func, buffer.get());
  if (alloc.path.empty()) {
    no("it writes the parameter " + buffer->name, "apply cache_write first");
  }
  if (alloc.is_inside(loop.stmt())) {
    no("buffer " + buffer->name + " is already allocated inside the loop", "name an inner loop");
  }
  std::vector<Site> users;
  for (Site& leaf : leaves(func)) {
    if (!loaded_buffers(leaf.stmt()).contains(buffer.get()) &&
        !stored_buffers(leaf.stmt()).contains(buffer.get())) {
      continue;
    }
    if (!leaf.is_inside(loop.stmt())) {
      no(leaf.describe() + " uses " + buffer->name + " outside loop " + loop_var->name,
         "move it into the loop with compute_at or reverse_compute_at");
    }
    if (!leaf.is_block()) no(leaf.describe() + " cannot be analyzed", "put it into a block");
    users.push_back(std::move(leaf));
  }
  arith::Analyzer analyzer = context(func, loop);
  struct Touch {
    std::vector<Access> list;
    Extents inner;
  };
  std::vector<Touch> touches;
  std::optional<Box> box;
  for (const Site& user : users) {
    std::vector<Stmt> loops = user.loops_from(loop_var);
    loops.erase(loops.begin());
    Touch touch;
    touch.inner = extents_of(loops);
    touch.list = accesses(user, touch.inner);
    std::erase_if(touch.list, [&](const Access& a) { return a.buffer != buffer; });
    for (const Access& access : touch.list) {
      Box own = box_of(access, touch.inner, analyzer);
      box = box ? hull(*box, own, analyzer) : own;
    }
    touches.push_back(std::move(touch));
  }
  Dims shape;
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    if (!box->extents[d].is_int()) {
      no("an iteration of loop " + loop_var->name + " touches " + to_string(box->extents[d]) +
             " elements along dimension " + std::to_string(d) + ", which is not a constant number",
         "split the loops so that one iteration handles a tile of constant size");
    }
    shape.push_back(box->extents[d]);
  }
  // Every iteration must write before it reads.
  const Site& first = users.front();
  const Access* store = nullptr;
  for (const Access& access : touches.front().list) {
    if (access.store) store = &access;
  }
  bool sets =
      store && (first.block().init || !loaded_buffers(first.block().body).contains(buffer.get()));
  if (!sets || !fill_box(store->indices, touches.front().inner, analyzer) ||
      !cuts_only_the_outside(func, first)) {
    no(first.describe() + " does not provably set all elements that an iteration of loop " +
           loop_var->name + " uses",
       "let the first block in the loop write a whole box");
  }
  Box written = box_of(*store, touches.front().inner, analyzer);
  for (const Touch& touch : touches) {
    for (const Access& access : touch.list) {
      if (contains(written, box_of(access, touch.inner, analyzer), buffer, analyzer)) continue;
      no("an iteration of loop " + loop_var->name + " uses elements of " + buffer->name +
             " that it does not write",
         "name an outer loop");
    }
  }
  Buffer small = make_buffer(buffer->name, buffer->dtype, shape, scope);
  Extents outer = extents_of(loop.loops());
  Stmt body = func.body;
  for (const Site& user : users) {
    body = replace(body, user.stmt(), shifted(user.block(), buffer, small, box->begins, outer));
  }
  PrimFuncRef moved = with_body(func, body);
  Stmt around = find_loop(*moved, loop_var).stmt();
  const auto& node = as<ForNode>(around);
  body = replace(body, around,
                 make_for(node.var, node.extent, make_alloc(small, node.body), node.for_kind));
  return with_body(func, prune(body));
}

}  // namespace tapml::schedule::primitives
