// rfactor: see primitives.h.
#include "schedule/primitives/primitives.h"
#include "schedule/primitives/reduction.h"
#include "tir/builder.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// The block of partial results, which replaces the old block: `loop` is spatial, the other
// reduction loops become reduction iterators, and the old iterators are replaced by their bindings.
Stmt partial_block(const Site& site, const Var& loop, const Reducer& reducer, const Buffer& partial,
                   const std::string& name) {
  const BlockNode& old = site.block();
  auto reduction = loops_of(old, IterType::kReduce);
  BlockNode block;
  block.name = name;
  block.predicate = old.predicate;
  VarMap loops, iterators;
  Var lane = make_var("v" + loop->name, loop.dtype());
  for (const Stmt& stmt : site.loops()) {
    const auto& node = as<ForNode>(stmt);
    if (!reduction.contains(node.var.get())) continue;
    bool is_lane = node.var.same_as(loop);
    Var var = is_lane ? lane : make_var("v" + node.var->name, node.var.dtype());
    loops[node.var.get()] = var;
    block.iters.push_back(
        {var, node.extent, is_lane ? IterType::kSpatial : IterType::kReduce, node.var});
  }
  for (const BlockIter& iter : old.iters) {
    if (iter.type == IterType::kReduce) {
      iterators[iter.var.get()] = tapml::substitute(iter.binding, loops);
    } else {
      block.iters.push_back(iter);
    }
  }
  std::vector<PrimExpr> at = {lane};
  at.insert(at.end(), reducer.indices.begin(), reducer.indices.end());
  PrimExpr term = tapml::substitute(reducer.term, iterators);
  block.body = make_store(partial, at, make_binary(reducer.op, load(partial, at), term));
  return make_block(std::move(block));
}

// out[...] = op(out[...], partial[lane, ...]) in its own loops.
Stmt final_nest(const BlockNode& old, const Reducer& reducer, const Buffer& partial,
                const PrimExpr& lanes) {
  BlockNode block;
  block.name = old.name;
  VarMap iterators;
  std::vector<Var> loops;
  auto add = [&](const std::string& name, const PrimExpr& extent, IterType type) {
    std::string plain = name.size() > 1 && name[0] == 'v' ? name.substr(1) : name;
    loops.push_back(make_var(plain, extent.dtype()));
    Var var = make_var("v" + plain, extent.dtype());
    block.iters.push_back({var, extent, type, loops.back()});
    return var;
  };
  for (const BlockIter& iter : old.iters) {
    iterators[iter.var.get()] = iter.type == IterType::kSpatial
                                    ? add(iter.var->name, iter.extent, IterType::kSpatial)
                                    : make_int(0, iter.var.dtype());
  }
  Var lane = add("vl", lanes, IterType::kReduce);
  std::vector<PrimExpr> out, at = {lane};
  for (const PrimExpr& index : reducer.indices) {
    out.push_back(tapml::substitute(index, iterators));
    at.push_back(out.back());
  }
  block.body = make_store(reducer.out, out,
                          make_binary(reducer.op, load(reducer.out, out), load(partial, at)));
  if (old.init) block.init = substitute(old.init, iterators);
  std::vector<PrimExpr> extents;
  for (const BlockIter& iter : block.iters) extents.push_back(iter.extent);
  Stmt stmt = make_block(std::move(block));
  for (size_t i = loops.size(); i-- > 0;) stmt = make_for(loops[i], extents[i], stmt);
  return stmt;
}

}  // namespace

NewBlock rfactor(const PrimFunc& func, const std::string& name, const Var& loop_var) {
  Site site = find_block(func, name);
  Site loop = find_loop(func, loop_var);
  const BlockNode& block = site.block();
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("rfactor", "block " + name, reason, hint);
  };
  if (!site.is_inside(loop.stmt())) {
    no("it is not in loop " + loop_var->name, "name a loop around it");
  }
  if (leaves(func, nest_of(site)).size() != 1) {
    no("its nest contains other blocks", "factor before blocks are moved together");
  }
  auto reducer = find_reducer(block);
  if (!reducer) {
    no("it does not update out[...] = op(out[...], term) with an operation that may be reordered",
       "take a sum, product, minimum or maximum");
  }
  if (block.init && block.init->kind != StmtKind::kStore) {
    no("its init is not one store", "take a block of one plain store");
  }
  std::string why = why_not_bijective(func, site);
  if (!why.empty()) no(why, "factor it before its loops are changed");
  auto spatial = loops_of(block, IterType::kSpatial),
       reduction = loops_of(block, IterType::kReduce);
  if (!reduction.contains(loop_var.get())) {
    no("loop " + loop_var->name + " is not one of its reduction loops", "name a reduction loop");
  }
  for (const Var& var : free_vars(loop.loop().extent)) {
    for (const Stmt& stmt : site.loops()) {
      if (!as<ForNode>(stmt).var.same_as(var)) continue;
      no("the extent of loop " + loop_var->name + " uses loop " + var->name,
         "factor a loop of independent extent");
    }
  }
  for (const Stmt& stmt : site.loops()) {
    const auto& node = as<ForNode>(stmt);
    if (spatial.contains(node.var.get()) && reduction.contains(node.var.get())) {
      no("loop " + node.var->name + " runs over points and over the reduction at once",
         "fuse loops of one kind only");
    }
    if (reduction.contains(node.var.get()) && node.for_kind != ForKind::kSerial &&
        node.for_kind != ForKind::kUnrolled) {
      no("its reduction loop " + node.var->name + " is " + for_kind_name(node.for_kind),
         "factor before loops are marked");
    }
  }
  size_t points = 0;
  for (const BlockIter& iter : block.iters) points += iter.type == IterType::kSpatial ? 1 : 0;
  if (!are_plain_indices(block, reducer->indices)) {
    no("it does not store to one plain element", "take a block of one plain store");
  }
  size_t indexed = 0;
  for (const PrimExpr& index : reducer->indices) indexed += index.is_var() ? 1 : 0;
  if (indexed != points) {
    no("points of it share an element", "take a block that writes each element once");
  }
  Dims shape = {loop.loop().extent};
  shape.insert(shape.end(), reducer->out->shape.begin(), reducer->out->shape.end());
  Buffer partial = make_buffer(reducer->out->name + "_rf", reducer->out->dtype, shape);
  std::string partial_name = fresh_block_name(func, name + "_rf");
  // Initialize outside the loops: lanes without a step keep the op's identity element.
  Stmt setting = compute(fresh_block_name(func, partial_name + "_init"), partial,
                         [&](const std::vector<Var>&) { return reducer->identity; });
  const Stmt nest = nest_of(site);
  Stmt summing = partial_block(site, loop_var, *reducer, partial, partial_name);
  Stmt parts = replace(nest, site.stmt(), summing);
  Stmt total = final_nest(block, *reducer, partial, loop.loop().extent);
  Stmt body = replace(func.body, nest, make_seq({setting, parts, total}));
  return {with_body(func, add_workspace(partial, body)), partial_name};
}

}  // namespace tapml::schedule::primitives
