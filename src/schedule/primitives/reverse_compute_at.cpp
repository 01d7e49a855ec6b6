// reverse_compute_at: see primitives.h.
#include <algorithm>

#include "schedule/primitives/move.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

struct Refusal {
  std::string name;
  [[noreturn]] void operator()(const std::string& reason, const std::string& hint) const {
    refuse("reverse_compute_at", "block " + name, reason, hint);
  }
};

// The last block in the loop that writes a buffer in `reads`; all writers must be in the loop.
Site find_producer(const PrimFunc& func, const Site& loop, const Site& block, const Refusal& no) {
  auto reads = loaded_buffers(block.stmt());
  Buffer buffer;
  std::optional<Site> producer;
  for (Site& leaf : leaves(func, nest_of(loop))) {
    if (!leaf.is_block()) continue;
    Buffer written = written_by(leaf.block());
    if (!written || !reads.contains(written.get())) continue;
    if (buffer && buffer != written) {
      no("it reads several buffers that loop " + loop.loop().var->name + "'s nest writes",
         "move a block that reads one of them");
    }
    buffer = written;
    if (!leaf.is_inside(loop.stmt())) {
      no(leaf.describe() + " writes " + buffer->name + " outside loop " + loop.loop().var->name,
         "name a loop around it");
    }
    producer = std::move(leaf);
  }
  if (!producer) {
    no("nothing in loop " + loop.loop().var->name + " writes what it reads",
       "name a loop of the block that does");
  }
  return *producer;
}

// The plain indices at which the block reads the buffer, the same for every read.
std::vector<PrimExpr> read_indices(const BlockNode& block, const Buffer& buffer,
                                   const Refusal& no) {
  std::optional<std::vector<PrimExpr>> found;
  bool same = true;
  visit(block.body, {}, [&](const PrimExpr& root) {
    visit_expr(root, [&](const PrimExpr& e) {
      if (!is_load_of(e, buffer)) return;
      if (!found) found = e->operands;
      for (size_t d = 0; d < found->size(); ++d) same &= same_expr((*found)[d], e.operand(d));
    });
  });
  if (!found || !same || !are_plain_indices(block, *found)) {
    no("it reads " + buffer->name + " at more than one plain element for each point",
       "move a block that reads buffer[v0, v1, ...]");
  }
  return *found;
}

}  // namespace

PrimFuncRef reverse_compute_at(const PrimFunc& func, const std::string& name, const Var& loop_var) {
  Refusal no{name};
  Site site = find_block(func, name);
  Site loop = find_loop(func, loop_var);
  const BlockNode& block = site.block();
  if (site.is_inside(loop.stmt())) {
    no("it is in loop " + loop_var->name + " already", "name a loop of another nest");
  }
  if (!is_alone(func, site)) {
    no("its nest contains other blocks", "move a block that has loops of its own");
  }
  if (block.init || std::any_of(block.iters.begin(), block.iters.end(),
                                [](const BlockIter& i) { return i.type == IterType::kReduce; })) {
    no("it is a reduction", "move a block without reduction iterators");
  }
  if (!is_before(func, nest_of(loop), nest_of(site))) {
    no("loop " + loop_var->name + " comes after it", "name a loop of the block that it reads");
  }
  std::string why = why_not_bijective(func, site);
  if (!why.empty()) no(why, "move it before its loops are changed");

  Site producer = find_producer(func, loop, site, no);
  const BlockNode& source = producer.block();
  Buffer buffer = written_by(source);
  std::vector<PrimExpr> reads = read_indices(block, buffer, no);
  if (source.body->kind != StmtKind::kStore ||
      !are_plain_indices(source, as<StoreNode>(source.body).indices)) {
    no(producer.describe() + " does not store to one plain element",
       "name a loop of a block of one plain store");
  }
  const auto& stores = as<StoreNode>(source.body).indices;
  why = why_not_bijective(func, producer);
  if (!why.empty()) {
    no(producer.describe() + ": " + why, "name a loop of a block that writes each element once");
  }
  // Every element gets its final value in one iteration of the loops down to this one.
  std::vector<Stmt> outer = loop.loops();
  arith::Analyzer whole = context(func, producer);
  std::vector<PrimExpr> bindings;
  for (const BlockIter& iter : source.iters) {
    bool stored = std::any_of(stores.begin(), stores.end(),
                              [&](const PrimExpr& index) { return index.same_as(iter.var); });
    if (stored) bindings.push_back(iter.binding);
  }
  auto known = determined(bindings, extents_of(producer.loops()), whole);
  for (const Stmt& stmt : outer) {
    const Var& var = as<ForNode>(stmt).var;
    if (known.contains(var.get())) continue;
    no(producer.describe() + " does not complete its elements in one iteration of loop " +
           var->name,
       "name a loop outside the reduction");
  }
  arith::Analyzer analyzer = context(func, loop);
  std::vector<Stmt> loops = producer.loops_from(loop_var);
  loops.erase(loops.begin());
  Extents inner = extents_of(loops);
  VarMap values;
  for (const BlockIter& iter : source.iters) values[iter.var.get()] = iter.binding;
  Access store{buffer, {}, true};
  for (const PrimExpr& index : stores) store.indices.push_back(tapml::substitute(index, values));
  if (!fill_box(store.indices, inner, analyzer)) {
    no("an iteration of loop " + loop_var->name + " does not write a box of " + buffer->name,
       "reorder the loops so that the tile is inside");
  }
  Box box = box_of(store, inner, analyzer);
  std::map<const tapml::ExprNode*, NewRange> ranges;
  for (size_t d = 0; d < reads.size(); ++d) {
    PrimExpr produced = 1;
    for (const BlockIter& iter : source.iters) {
      if (iter.var.same_as(stores[d])) produced = iter.extent;
    }
    if (!reads[d].is_var()) {
      if (analyzer.prove_equal(produced, 1) && analyzer.prove_equal(box.extents[d], 1) &&
          analyzer.prove_equal(box.begins[d], 0) && reads[d].is_int(0)) {
        continue;
      }
      no("it reads one of several elements along dimension " + std::to_string(d) + " of " +
             buffer->name,
         "move a block that reads every element");
    }
    for (const BlockIter& iter : block.iters) {
      if (!iter.var.same_as(reads[d])) continue;
      if (!analyzer.prove_equal(iter.extent, produced)) {
        no("it reads " + to_string(iter.extent) + " of the " + to_string(produced) +
               " elements along dimension " + std::to_string(d) + " of " + buffer->name,
           "move a block that reads every element");
      }
      ranges[iter.var.get()] = {box.begins[d], box.extents[d]};
    }
  }
  // Check the blocks that it moves past.
  auto inputs = loaded_buffers(site.stmt()), outputs = stored_buffers(site.stmt());
  for (const Site& leaf : leaves_between(func, loop, site)) {
    if (leaf.stmt() == site.stmt()) continue;
    bool in_loop = leaf.is_inside(loop.stmt());
    for (const BufferNode* written : stored_buffers(leaf.stmt())) {
      if ((inputs.contains(written) && !(in_loop && written == buffer.get())) ||
          outputs.contains(written)) {
        no(leaf.describe() + " writes " + written->name + ", which it uses", "keep it where it is");
      }
    }
    for (const BufferNode* read : loaded_buffers(leaf.stmt())) {
      if (!outputs.contains(read)) continue;
      no(leaf.describe() + " reads " + read->name + ", which it writes", "keep it where it is");
    }
  }
  for (const BufferNode* written : outputs) {
    if (inputs.contains(written)) {
      no("it reads " + written->name + ", which it writes", "keep it where it is");
    }
  }
  Stmt moved = in_new_loops(block, ranges, analyzer);
  const ForNode& at = loop.loop();
  Stmt target = make_for(at.var, at.extent, make_seq({at.body, moved}), at.for_kind);
  Stmt body = replace(func.body, loop.stmt(), target);
  body = replace(body, nest_of(site), make_seq({}));
  return with_body(func, prune(body));
}

}  // namespace tapml::schedule::primitives
