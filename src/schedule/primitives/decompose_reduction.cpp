// decompose_reduction: see primitives.h.
#include "ir/queries.h"
#include "schedule/primitives/primitives.h"
#include "schedule/primitives/reduction.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

NewBlock decompose_reduction(const PrimFunc& func, const std::string& name, const Var& loop_var) {
  Site site = find_block(func, name);
  Site loop = find_loop(func, loop_var);
  const BlockNode& block = site.block();
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("decompose_reduction", "block " + name, reason, hint);
  };
  if (!block.init) no("it has no init", "take a reduction that was not decomposed");
  if (!site.is_inside(loop.stmt())) {
    no("it is not in loop " + loop_var->name, "name a loop around it");
  }
  std::string why = why_not_bijective(func, site);
  if (!why.empty()) no(why, "decompose it before its loops are changed");
  if (block.init->kind != StmtKind::kStore ||
      !are_plain_indices(block, as<StoreNode>(block.init).indices)) {
    no("its init does not store to one plain element", "take a block of one plain store");
  }
  auto spatial = loops_of(block, IterType::kSpatial),
       reduction = loops_of(block, IterType::kReduce);
  size_t indexed = 0, points = 0;
  for (const BlockIter& iter : block.iters) points += iter.type == IterType::kSpatial ? 1 : 0;
  for (const PrimExpr& index : as<StoreNode>(block.init).indices) indexed += index.is_var() ? 1 : 0;
  if (indexed != points) {
    no("points of it share an element", "take a block that writes each element once");
  }
  for (const Stmt& stmt : site.loops()) {
    const Var& var = as<ForNode>(stmt).var;
    if (spatial.contains(var.get()) && reduction.contains(var.get())) {
      no("loop " + var->name + " runs over points and over the reduction at once",
         "fuse loops of one kind only");
    }
    bool above = stmt != loop.stmt() && loop.is_inside(stmt);
    if (above && reduction.contains(var.get())) {
      no("its reduction loop " + var->name + " is around loop " + loop_var->name,
         "name a loop around all its reduction loops");
    }
  }
  const Buffer& buffer = as<StoreNode>(block.init).buffer;
  Site alloc = find_alloc(func, buffer.get());
  if (!alloc.path.empty() && alloc.is_inside(loop.stmt())) {
    no("buffer " + buffer->name + " is allocated inside loop " + loop_var->name,
       "name a loop inside");
  }
  bool before = true;
  for (const Site& leaf : leaves(func, loop.stmt())) {
    if (leaf.stmt() == site.stmt()) {
      before = false;
      continue;
    }
    if (stored_buffers(leaf.stmt()).contains(buffer.get()) ||
        (before && loaded_buffers(leaf.stmt()).contains(buffer.get()))) {
      no(leaf.describe() + " uses " + buffer->name + " in loop " + loop_var->name,
         "name a loop inside");
    }
    for (const BufferNode* written : stored_buffers(leaf.stmt())) {
      if (!loaded_buffers(block.init).contains(written)) continue;
      no("its init reads " + written->name + ", which " + leaf.describe() + " writes",
         "name a loop inside");
    }
  }
  auto init = std::make_shared<BlockNode>();
  init->name = fresh_block_name(func, name + "_init");
  VarMap loops, iterators;
  std::vector<const ForNode*> nest;
  for (const Stmt& stmt : site.loops_from(loop_var)) {
    const auto& node = as<ForNode>(stmt);
    if (reduction.contains(node.var.get())) continue;
    loops[node.var.get()] = make_var(node.var->name, node.var.dtype());
    nest.push_back(&node);
  }
  for (const BlockIter& iter : block.iters) {
    if (iter.type == IterType::kReduce) {
      iterators[iter.var.get()] = make_int(0, iter.var.dtype());
      continue;
    }
    Var var = make_var(iter.var->name, iter.var.dtype());
    iterators[iter.var.get()] = var;
    init->iters.push_back(
        {var, iter.extent, IterType::kSpatial, tapml::substitute(iter.binding, loops)});
  }
  for (const PrimExpr& part : conjuncts(block.predicate)) {
    if (uses_any(part, reduction)) {
      if (uses_any(part, spatial)) {
        no("its predicate mixes points and reduction steps", "split loops of one kind only");
      }
      continue;
    }
    PrimExpr kept = tapml::substitute(part, loops);
    init->predicate = init->predicate ? logical_and(init->predicate, kept) : kept;
  }
  init->body = substitute(block.init, iterators);
  infer_regions(*init);
  Stmt first = init;
  for (size_t i = nest.size(); i-- > 0;) {
    const ForNode& node = *nest[i];
    first = make_for(loops.at(node.var.get()), tapml::substitute(node.extent, loops), first,
                     node.for_kind);
  }
  BlockNode update = block;
  update.init = nullptr;
  Stmt rest = replace(loop.stmt(), site.stmt(), make_block(std::move(update)));
  return {with_body(func, replace(func.body, loop.stmt(), make_seq({first, rest}))), init->name};
}

}  // namespace tapml::schedule::primitives
