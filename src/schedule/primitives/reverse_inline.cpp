// reverse_inline: see primitives.h.
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef reverse_inline(const PrimFunc& func, const std::string& name) {
  Site site = find_block(func, name);
  const BlockNode& block = site.block();
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("reverse_inline", "block " + name, reason, hint);
  };
  auto consumer = find_pointwise(block);
  if (!consumer) {
    no("it does not store one value out[v0, v1, ...] without reduction",
       "inline an elementwise block");
  }
  // Find the one intermediate read at plain indices that has a single pointwise writer.
  std::optional<Site> source;
  std::optional<Pointwise> producer;
  std::string reason = "it reads no intermediate";
  Extents unused;
  for (const Access& access : accesses(site, unused)) {
    const BufferNode* buffer = access.buffer.get();
    if (access.store || find_alloc(func, buffer).path.empty()) continue;
    auto writers = writers_of(func, buffer);
    if (writers.size() != 1 || !writers[0].is_block()) {
      reason = "several blocks write " + buffer->name;
      continue;
    }
    auto readers = readers_of(func, buffer);
    std::erase_if(readers, [&](const Site& r) { return r.stmt() == writers[0].stmt(); });
    if (readers.size() != 1) {
      reason = "it is not the only reader of " + buffer->name;
      continue;
    }
    auto found = find_pointwise(writers[0].block());
    if (!found || found->out.get() != buffer) {
      reason = writers[0].describe() + " is a reduction or not pointwise";
      continue;
    }
    source = writers[0];
    producer = found;
    break;
  }
  if (!source) no(reason, "use reverse_compute_at, or inline the producer");
  const Buffer& buffer = producer->out;
  std::optional<std::vector<PrimExpr>> at;
  bool same = true;
  visit_expr(consumer->value, [&](const PrimExpr& e) {
    if (!is_load_of(e, buffer)) return;
    if (!at) at = e->operands;
    for (size_t d = 0; d < at->size(); ++d) same &= same_expr((*at)[d], e.operand(d));
  });
  if (!at || !same || !are_plain_indices(block, *at)) {
    no("it reads " + buffer->name + " at more than one plain element for each point",
       "inline a block that reads buffer[v0, v1, ...]");
  }
  for (const Site* side : {&site, &*source}) {
    std::string why = why_not_bijective(func, *side);
    if (!why.empty()) no(side->describe() + ": " + why, "inline before loops are changed");
  }
  arith::Analyzer analyzer = context(func, std::vector<Stmt>{});
  auto extent_of = [](const BlockNode& owner, const PrimExpr& index) {
    for (const BlockIter& iter : owner.iters) {
      if (iter.var.same_as(index)) return iter.extent;
    }
    return PrimExpr(1);
  };
  VarMap values;
  for (size_t d = 0; d < at->size(); ++d) {
    PrimExpr wanted = extent_of(block, (*at)[d]);
    PrimExpr made = extent_of(source->block(), producer->indices[d]);
    if (!analyzer.prove_equal(wanted, made)) {
      no("it reads " + to_string(wanted) + " of the " + to_string(made) +
             " elements along dimension " + std::to_string(d) + " of " + buffer->name,
         "inline a block over the same shape");
    }
    if ((*at)[d].is_var()) values[(*at)[d].get()] = producer->indices[d];
  }
  if (values.size() != block.iters.size() || source->block().iters.size() != block.iters.size()) {
    no("it does not have one point for each element of " + buffer->name,
       "inline a block over the same shape");
  }
  for (const Site& leaf : leaves_between(func, *source, site)) {
    if (leaf.stmt() == source->stmt() || leaf.stmt() == site.stmt()) continue;
    const std::string why = why_in_conflict(site.stmt(), leaf);
    if (!why.empty()) no(why, "keep it where it is");
  }
  if (loaded_buffers(source->stmt()).contains(consumer->out.get())) {
    no(source->describe() + " reads " + consumer->out->name + ", which it writes",
       "keep it where it is");
  }
  PrimExpr value = rewrite_expr(tapml::substitute(consumer->value, values), [&](const PrimExpr& e) {
    bool own = is_load_of(e, buffer);
    return own ? refresh_lets(producer->value) : PrimExpr();
  });
  std::vector<PrimExpr> indices;
  for (const PrimExpr& index : consumer->indices) {
    indices.push_back(tapml::substitute(index, values));
  }
  BlockNode merged = source->block();
  merged.body = make_store(consumer->out, indices, value);
  Stmt body = replace(func.body, source->stmt(), make_block(std::move(merged)));
  body = replace(body, site.stmt(), make_seq({}));
  return with_body(func, prune(body));
}

}  // namespace tapml::schedule::primitives
