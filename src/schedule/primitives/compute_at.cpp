// compute_at: see primitives.h.
#include "schedule/primitives/move.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef compute_at(const PrimFunc& func, const std::string& name, const Var& loop_var) {
  Site site = find_block(func, name);
  Site loop = find_loop(func, loop_var);
  const BlockNode& block = site.block();
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("compute_at", "block " + name, reason, hint);
  };
  if (site.is_inside(loop.stmt())) {
    no("it is in loop " + loop_var->name + " already", "name a loop of another nest");
  }
  if (!is_alone(func, site)) {
    no("its nest contains other blocks", "move a block that has loops of its own");
  }
  Buffer buffer = written_by(block);
  if (!buffer || find_alloc(func, buffer.get()).path.empty()) {
    no("it does not write a single intermediate buffer", "apply cache_write first");
  }
  if (writers_of(func, buffer.get()).size() != 1) {
    no("it is not the only block that writes " + buffer->name,
       "move a block whose init is part of it");
  }
  bool plain = block.body->kind == StmtKind::kStore &&
               are_plain_indices(block, as<StoreNode>(block.body).indices);
  size_t spatial = 0, indexed = 0;
  for (const BlockIter& iter : block.iters) spatial += iter.type == IterType::kSpatial ? 1 : 0;
  if (plain) {
    for (const PrimExpr& index : as<StoreNode>(block.body).indices) indexed += index.is_var();
    for (const BlockIter& iter : block.iters) {
      for (const PrimExpr& index : as<StoreNode>(block.body).indices) {
        plain &= iter.type == IterType::kSpatial || !index.same_as(iter.var);
      }
    }
  }
  if (!plain || spatial != indexed) {
    no("it does not store to one element for each value of its iterators",
       "move a block of one plain store");
  }
  if (!block.init && loaded_buffers(block.body).contains(buffer.get())) {
    no("it updates values that " + buffer->name + " already holds",
       "move a block that sets each element");
  }
  std::string why = why_not_bijective(func, site);
  if (!why.empty()) no(why, "move it before its loops are changed");
  if (!is_before(func, nest_of(site), nest_of(loop))) {
    no("loop " + loop_var->name + " comes before it", "name a loop of a block that reads it");
  }
  // Collects the readers in the loop and what they read in one iteration.
  arith::Analyzer analyzer = context(func, loop);
  std::optional<Box> box;
  for (const Site& reader : readers_of(func, buffer.get())) {
    if (reader.stmt() == site.stmt()) continue;
    if (!reader.is_inside(loop.stmt())) {
      no(reader.describe() + " reads " + buffer->name + " outside loop " + loop_var->name,
         "name a loop around all readers");
    }
    std::vector<Stmt> loops = reader.loops_from(loop_var);
    loops.erase(loops.begin());
    Extents inner = extents_of(loops);
    for (const Access& access : accesses(reader, inner)) {
      if (access.buffer != buffer) continue;
      Box own = box_of(access, inner, analyzer);
      box = box ? hull(*box, own, analyzer) : own;
    }
  }
  if (!box) no("nothing reads " + buffer->name, "name a loop of a block that reads it");
  auto inputs = loaded_buffers(site.stmt());
  for (const Site& leaf : leaves_between(func, site, loop)) {
    if (leaf.stmt() == site.stmt()) continue;
    for (const BufferNode* written : stored_buffers(leaf.stmt())) {
      if (!inputs.contains(written)) continue;
      no(leaf.describe() + " writes " + written->name + ", which it reads, before it would run",
         "keep it where it is");
    }
  }
  std::map<const tapml::ExprNode*, NewRange> ranges;
  const auto& indices = as<StoreNode>(block.body).indices;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].is_var()) ranges[indices[d].get()] = {box->begins[d], box->extents[d]};
  }
  Stmt moved = in_new_loops(block, ranges, analyzer);
  const ForNode& at = loop.loop();
  Stmt target = make_for(at.var, at.extent, make_seq({moved, at.body}), at.for_kind);
  Stmt body = replace(func.body, loop.stmt(), target);
  body = replace(body, nest_of(site), make_seq({}));
  return with_body(func, prune(body));
}

}  // namespace tapml::schedule::primitives
