// inline: see primitives.h.
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Replaces loads of the producer's buffer with its value at their indices.
PrimExpr inlined(const PrimExpr& root, const Pointwise& producer) {
  return rewrite_expr(root, [&](const PrimExpr& e) {
    if (!is_load_of(e, producer.out)) return PrimExpr();
    VarMap values;
    for (size_t d = 0; d < producer.indices.size(); ++d) {
      if (producer.indices[d].is_var()) values[producer.indices[d].get()] = e.operand(d);
    }
    return tapml::substitute(refresh_lets(producer.value), values);
  });
}

// Counts the nodes of the printed tree (shared ones each time), up to the limit.
void count_nodes(const PrimExpr& e, int64_t limit, int64_t& count) {
  if (!e || ++count > limit) return;
  for (const PrimExpr& operand : e->operands) count_nodes(operand, limit, count);
}

}  // namespace

PrimFuncRef inline_block(const PrimFunc& func, const std::string& name) {
  constexpr int64_t kMostNodes = 4096;
  Site site = find_block(func, name);
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("inline", "block " + name, reason, hint);
  };
  auto producer = find_pointwise(site.block());
  if (!producer) {
    no("it does not store one value out[v0, v1, ...] without reduction",
       "inline an elementwise block");
  }
  size_t indexed = 0;
  for (const PrimExpr& index : producer->indices) indexed += index.is_var() ? 1 : 0;
  if (indexed != site.block().iters.size()) {
    no("it stores elements more than once", "inline a block with one iterator a dimension");
  }
  const BufferNode* buffer = producer->out.get();
  // Readers may read any element, so the block must define all of them.
  arith::Analyzer analyzer = context(func, site);
  bool all = cuts_only_the_outside(func, site);
  for (size_t d = 0; d < producer->indices.size(); ++d) {
    for (const BlockIter& iter : site.block().iters) {
      if (!iter.var.same_as(producer->indices[d])) continue;
      all = all && analyzer.prove_equal(iter.extent, buffer->shape[d]);
    }
  }
  if (!all) {
    no("it does not provably write all of " + buffer->name,
       "inline before the buffer is padded, and only blocks without a condition");
  }
  if (find_alloc(func, buffer).path.empty()) {
    no("it writes the parameter " + buffer->name, "inline blocks that write intermediates");
  }
  if (writers_of(func, buffer).size() != 1) {
    no("it is not the only block that writes " + buffer->name, "inline only writers");
  }
  std::vector<Site> readers = readers_of(func, buffer);
  if (readers.empty()) no("nothing reads " + buffer->name, "inline a block that others read");
  auto inputs = loaded_buffers(site.stmt());
  for (const Site& reader : readers) {
    if (!is_before(func, site.stmt(), reader.stmt())) {
      no(reader.describe() + " reads " + buffer->name + " before it", "keep it where it is");
    }
    for (const Site& leaf : leaves_between(func, site, reader)) {
      for (const BufferNode* written : stored_buffers(leaf.stmt())) {
        if (leaf.stmt() == site.stmt() || !inputs.contains(written)) continue;
        no(leaf.describe() + " writes " + written->name + ", which its value reads",
           "keep it where it is");
      }
    }
  }
  Stmt body = replace(func.body, site.stmt(), make_seq({}));
  int64_t nodes = 0;
  for (const Site& reader : readers) {
    Stmt changed = rewrite(reader.stmt(), [&](const PrimExpr& e) {
      PrimExpr result = inlined(e, *producer);
      if (!result.same_as(e)) count_nodes(result, kMostNodes, nodes);
      return result;
    });
    if (nodes > kMostNodes) {
      no("its value would be duplicated too often in " + reader.describe(),
         "keep it as a separate stage");
    }
    if (changed->kind == StmtKind::kBlock) changed = make_block(as<BlockNode>(changed));
    body = replace(body, reader.stmt(), changed);
  }
  return with_body(func, prune(body));
}

}  // namespace tapml::schedule::primitives
