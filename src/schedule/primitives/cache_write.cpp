// cache_write: see primitives.h.
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"
#include "tir/builder.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

NewBlock cache_write(const PrimFunc& func, const std::string& name) {
  Site site = find_block(func, name);
  const BlockNode& block = site.block();
  const Stmt nest = nest_of(site);
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("cache_write", "block " + name, reason, hint);
  };
  Buffer buffer = written_by(block);
  if (!buffer) no("it writes several buffers", "take a block that writes one");
  for (const Site& leaf : leaves(func, nest)) {
    if (leaf.stmt() == site.stmt()) continue;
    if (!loaded_buffers(leaf.stmt()).contains(buffer.get()) &&
        !stored_buffers(leaf.stmt()).contains(buffer.get())) {
      continue;
    }
    no(leaf.describe() + " uses " + buffer->name + " in the same nest",
       "cache before blocks are moved together or a reduction is decomposed");
  }
  bool reads_itself = loaded_buffers(block.body).contains(buffer.get());
  if ((reads_itself && !block.init) ||
      (block.init && loaded_buffers(block.init).contains(buffer.get()))) {
    no("it updates values that " + buffer->name + " already holds",
       "take a block that sets each element first");
  }
  if (block.body->kind != StmtKind::kStore ||
      !are_plain_indices(block, as<StoreNode>(block.body).indices)) {
    no("it does not store to one element of its own iterators", "take a block of one plain store");
  }
  std::string why = why_not_bijective(func, site);
  if (!why.empty()) no(why, "take a block that writes every element");
  arith::Analyzer analyzer = context(func, site);
  const auto& indices = as<StoreNode>(block.body).indices;
  for (size_t d = 0; d < indices.size(); ++d) {
    PrimExpr covered = 1;
    for (const BlockIter& iter : block.iters) {
      if (iter.var.same_as(indices[d])) covered = iter.extent;
    }
    if (analyzer.prove_equal(covered, buffer->shape[d])) continue;
    no("it writes " + to_string(covered) + " of the " + to_string(buffer->shape[d]) +
           " elements along dimension " + std::to_string(d) + " of " + buffer->name,
       "take a block that writes every element");
  }
  Site alloc = find_alloc(func, buffer.get());
  if (!alloc.path.empty() && alloc.is_inside(nest)) {
    no("buffer " + buffer->name + " is allocated inside the nest",
       "cache a buffer that is allocated around it");
  }
  Buffer cache = make_buffer(buffer->name + "_cache", buffer->dtype, buffer->shape);
  std::string copy_name = fresh_block_name(func, buffer->name + "_write");
  Stmt copying = compute(copy_name, buffer, [&](const std::vector<Var>& at) {
    return load(cache, std::vector<PrimExpr>(at.begin(), at.end()));
  });
  Stmt writing = replace_buffers(site.stmt(), BufferMap{{buffer.get(), cache}});
  Stmt changed = nest == site.stmt() ? writing : replace(nest, site.stmt(), writing);
  Stmt body = replace(func.body, nest, make_seq({changed, copying}));
  return {with_body(func, add_workspace(cache, body)), copy_name};
}

}  // namespace tapml::schedule::primitives
