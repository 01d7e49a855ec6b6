#include "schedule/primitives/dependence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tir/queries.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone
using arith::Analyzer;
using Op = tapml::ExprKind;

namespace {

std::vector<PrimExpr> own_indices(const Stmt& store) { return as<StoreNode>(store).indices; }

// Stores and loads of `buffer` in a block, with indices over the block's iterators.
std::vector<std::vector<PrimExpr>> touched(const BlockNode& block, const BufferNode* buffer) {
  std::vector<std::vector<PrimExpr>> result;
  for (const Stmt& part : {block.init, block.body}) {
    visit(
        part,
        [&](const Stmt& s) {
          if (s->kind == StmtKind::kStore && as<StoreNode>(s).buffer.get() == buffer) {
            result.push_back(own_indices(s));
          }
        },
        [&](const PrimExpr& root) {
          visit_expr(root, [&](const PrimExpr& e) {
            if (is_load_of(e, buffer)) {
              result.push_back(e->operands);
            }
          });
        });
  }
  return result;
}

// The reason why two iterations of `loop` may touch the same element of `buffer` in this block.
std::string why_shared(const PrimFunc& func, const Site& leaf, const Var& loop,
                       const BufferNode* buffer) {
  const BlockNode& block = leaf.block();
  bool decides = block.predicate && reads(block.predicate, buffer);
  for (const BlockIter& iter : block.iters) decides |= reads(iter.binding, buffer);
  if (decides) return "block " + block.name + " depends on " + buffer->name + ", which it writes";
  Analyzer analyzer = context(func, leaf);
  Extents iterators;
  for (const BlockIter& iter : block.iters) {
    iterators[iter.var.get()] = iter.extent;
    analyzer.assume(lt(make_int(0, iter.extent.dtype()), iter.extent));
  }
  Extents own = iterators;
  visit(block.body, [&](const Stmt& s) {
    if (s->kind == StmtKind::kFor) own[as<ForNode>(s).var.get()] = as<ForNode>(s).extent;
  });
  // The dimensions whose index is the same in all accesses.
  auto all = touched(block, buffer);
  std::vector<PrimExpr> common;
  for (size_t d = 0; d < all.front().size(); ++d) {
    bool same = std::all_of(all.begin(), all.end(), [&](const auto& indices) {
      return same_expr(indices[d], all.front()[d]);
    });
    if (same) common.push_back(all.front()[d]);
  }
  std::set<const tapml::ExprNode*> known = determined(common, own, analyzer);
  std::vector<PrimExpr> bindings;
  bool reduces = false;
  for (const BlockIter& iter : block.iters) {
    if (known.contains(iter.var.get())) bindings.push_back(iter.binding);
    if (iter.type != IterType::kReduce) continue;
    reduces |= uses(iter.binding, loop);
  }
  Extents loops = extents_of(leaf.loops_from(loop));
  if (determined(bindings, loops, analyzer).contains(loop.get())) return "";
  // Substitutes loops for iterators: after store_at, indices are not plain iterators.
  VarMap values;
  for (const BlockIter& iter : block.iters) values[iter.var.get()] = iter.binding;
  for (PrimExpr& index : common) index = tapml::substitute(index, values);
  Extents inner = loops;
  for (const auto& [var, extent] : own) {
    if (!iterators.contains(var)) inner[var] = tapml::substitute(extent, values);
  }
  if (determined(common, inner, analyzer).contains(loop.get())) return "";
  std::string block_name = "block " + block.name;
  if (reduces) return block_name + " reduces over it";
  return block_name + " writes elements of " + buffer->name + " that two iterations may share";
}

bool mentions(const std::vector<Access>& list, const BufferNode* buffer) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Access& a) { return a.buffer.get() == buffer; });
}

}  // namespace

std::string why_dependent(const PrimFunc& func, const Site& site) {
  const Var& loop = site.loop().var;
  struct Leaf {
    Site site;
    Extents inner;
    std::vector<Access> list;
  };
  std::vector<Leaf> below;
  std::vector<Buffer> written;
  for (Site& leaf : leaves(func, site.stmt())) {
    if (!leaf.is_block()) return leaf.describe() + " cannot be analyzed";
    std::vector<Stmt> loops = leaf.loops_from(loop);
    loops.erase(loops.begin());
    Extents inner = extents_of(loops);
    auto list = accesses(leaf, inner);
    for (const Access& access : list) {
      bool known = std::find(written.begin(), written.end(), access.buffer) != written.end();
      if (!access.store || known) continue;
      // A buffer allocated inside the loop is private to each iteration.
      Site alloc = find_alloc(func, access.buffer.get());
      if (!alloc.path.empty() && alloc.is_inside(site.stmt())) continue;
      written.push_back(access.buffer);
    }
    below.push_back({std::move(leaf), std::move(inner), std::move(list)});
  }
  for (const Buffer& buffer : written) {
    std::vector<const Leaf*> users;
    for (const Leaf& leaf : below) {
      if (mentions(leaf.list, buffer.get())) users.push_back(&leaf);
    }
    // One writer must have elements that distinguish the iterations ...
    const Leaf* owner = nullptr;
    std::string reason;
    for (const Leaf* user : users) {
      bool writes = std::any_of(user->list.begin(), user->list.end(),
                                [&](const Access& a) { return a.store && a.buffer == buffer; });
      if (!writes) continue;
      std::string why = why_shared(func, user->site, loop, buffer.get());
      if (!why.empty()) {
        reason = why;
        owner = nullptr;
        break;
      }
      if (!owner) owner = user;
    }
    if (!owner) return reason;
    if (users.size() == 1) continue;
    // ... and a box that contains everything that the same iteration touches.
    Analyzer analyzer = context(func, site);
    const Access* store = nullptr;
    for (const Access& a : owner->list) {
      if (a.store && a.buffer == buffer) store = &a;
    }
    if (!fill_box(store->indices, owner->inner, analyzer)) {
      return "blocks share elements of " + buffer->name + ", which " + owner->site.describe() +
             " does not write as one box an iteration";
    }
    Box box = box_of(*store, owner->inner, analyzer);
    for (const Leaf* user : users) {
      for (const Access& access : user->list) {
        if (access.buffer != buffer) continue;
        if (contains(box, box_of(access, user->inner, analyzer), buffer, analyzer)) continue;
        return user->site.describe() + " touches elements of " + buffer->name +
               " that another iteration may write";
      }
    }
  }
  return "";
}

namespace {

PrimExpr identity_of(Op op, DType dtype) {
  bool floating = is_float(dtype);
  auto number = [&](double value) {
    return floating ? make_float(value, dtype) : make_int(static_cast<int64_t>(value), dtype);
  };
  switch (op) {
    case Op::kAdd:
      return number(0);
    case Op::kMul:
      return number(1);
    case Op::kAnd:
      return make_bool(true);
    case Op::kOr:
      return make_bool(false);
    case Op::kMin:
    case Op::kMax: {
      bool max = op == Op::kMax;
      if (floating) return make_float(max ? -HUGE_VAL : HUGE_VAL, dtype);
      if (dtype == DType::kBool) return make_bool(!max);
      int bits = dtype_bits(dtype);
      if (is_unsigned_integer(dtype)) {
        if (max) return make_int(0, dtype);
        return make_int(bits == 64 ? -1 : (int64_t{1} << bits) - 1, dtype);
      }
      int64_t low = bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
      return make_int(max ? low : -(low + 1), dtype);
    }
    default:
      return PrimExpr();
  }
}

}  // namespace

std::optional<Reducer> find_reducer(const BlockNode& block) {
  if (block.body->kind != StmtKind::kStore) return std::nullopt;
  const auto& store = as<StoreNode>(block.body);
  PrimExpr identity = identity_of(store.value.kind(), store.buffer->dtype);
  if (!identity) return std::nullopt;
  for (int side : {0, 1}) {
    const PrimExpr &own = store.value.operand(side), &term = store.value.operand(1 - side);
    if (!is_load_of(own, store.buffer)) continue;
    bool same = own->operands.size() == store.indices.size();
    for (size_t d = 0; same && d < store.indices.size(); ++d) {
      same = same_expr(own.operand(d), store.indices[d]);
    }
    if (!same || reads(term, store.buffer.get())) continue;
    return Reducer{store.buffer, store.indices, store.value.kind(), term, identity};
  }
  return std::nullopt;
}

std::string why_in_conflict(const Stmt& moved, const Site& passed) {
  if (joins_threads(passed.stmt())) return passed.describe() + " is in between";
  auto reads = loaded_buffers(moved), writes = stored_buffers(moved);
  for (const BufferNode* buffer : stored_buffers(passed.stmt())) {
    if (reads.contains(buffer)) {
      return passed.describe() + " writes " + buffer->name + ", which it reads";
    }
    if (writes.contains(buffer)) {
      return passed.describe() + " writes " + buffer->name + " too";
    }
  }
  for (const BufferNode* buffer : loaded_buffers(passed.stmt())) {
    if (writes.contains(buffer)) {
      return passed.describe() + " reads " + buffer->name + ", which it writes";
    }
  }
  return "";
}

bool are_plain_indices(const BlockNode& block, const std::vector<PrimExpr>& indices) {
  std::set<const tapml::ExprNode*> used;
  for (const PrimExpr& index : indices) {
    if (index.is_int()) continue;
    bool own = std::any_of(block.iters.begin(), block.iters.end(),
                           [&](const BlockIter& iter) { return iter.var.same_as(index); });
    if (!own || !used.insert(index.get()).second) return false;
  }
  return true;
}

std::optional<Pointwise> find_pointwise(const BlockNode& block) {
  if (block.body->kind != StmtKind::kStore || block.init) return std::nullopt;
  const auto& store = as<StoreNode>(block.body);
  for (const BlockIter& iter : block.iters) {
    if (iter.type == IterType::kReduce) return std::nullopt;
  }
  if (!are_plain_indices(block, store.indices)) return std::nullopt;
  for (size_t d = 0; d < store.indices.size(); ++d) {
    if (store.indices[d].is_int() && !store.buffer->shape[d].is_int(1)) return std::nullopt;
  }
  if (reads(store.value, store.buffer.get())) return std::nullopt;
  return Pointwise{store.buffer, store.indices, store.value};
}

bool cuts_only_the_outside(const PrimFunc& func, const Site& leaf) {
  const BlockNode& block = leaf.block();
  for (const Stmt& stmt : leaf.path) {
    if (stmt->kind == StmtKind::kIf) return false;
  }
  if (!block.predicate) return true;
  arith::Analyzer inside = context(func, leaf);
  for (const BlockIter& iter : block.iters) {
    inside.assume(lt(iter.binding, iter.extent));
    inside.assume(le(make_int(0, iter.binding.dtype()), iter.binding));
  }
  return inside.prove(block.predicate);
}

std::vector<Site> readers_of(const PrimFunc& func, const BufferNode* buffer) {
  std::vector<Site> result;
  for (Site& leaf : leaves(func)) {
    if (loaded_buffers(leaf.stmt()).contains(buffer)) result.push_back(std::move(leaf));
  }
  return result;
}

std::vector<Site> writers_of(const PrimFunc& func, const BufferNode* buffer) {
  std::vector<Site> result;
  for (Site& leaf : leaves(func)) {
    if (stored_buffers(leaf.stmt()).contains(buffer)) result.push_back(std::move(leaf));
  }
  return result;
}

Buffer written_by(const BlockNode& block) {
  Buffer found;
  bool several = false;
  visit(block.body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kStore) return;
    const Buffer& buffer = as<StoreNode>(s).buffer;
    several |= found && found != buffer;
    found = buffer;
  });
  return several ? nullptr : found;
}

}  // namespace tapml::schedule
