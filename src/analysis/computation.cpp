#include "analysis/computation.h"

#include <algorithm>

#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::analysis {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

bool same_indices(const std::vector<PrimExpr>& a, const std::vector<PrimExpr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_expr(a[i], b[i])) return false;
  }
  return true;
}

bool contains(const std::vector<Var>& vars, const PrimExpr& var) {
  return std::any_of(vars.begin(), vars.end(), [&](const Var& v) { return v.same_as(var); });
}

struct Iter {
  Var var;
  PrimExpr extent;
};

class Finder {
 public:
  bool walk(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor: {
        iters_.push_back({as<ForNode>(s).var, as<ForNode>(s).extent});
        bool good = walk(as<ForNode>(s).body);
        iters_.pop_back();
        return good;
      }
      case StmtKind::kSeq:
        return std::all_of(as<SeqNode>(s).stmts.begin(), as<SeqNode>(s).stmts.end(),
                           [&](const Stmt& inner) { return walk(inner); });
      case StmtKind::kAlloc:
        return walk(as<AllocNode>(s).body);
      case StmtKind::kBlock:
        return block(as<BlockNode>(s));
      case StmtKind::kStore:
        return store(as<StoreNode>(s));
      case StmtKind::kIf:
      case StmtKind::kBarrier:
      case StmtKind::kMatrix:
      case StmtKind::kCopyAsync:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        return false;
    }
    return false;
  }

  std::vector<Computation> found;

 private:
  // A block's body uses its iterators instead of the loops around it.
  bool block(const BlockNode& node) {
    if (node.predicate) return false;
    std::vector<Iter> outer = std::move(iters_);
    iters_.clear();
    for (const BlockIter& iter : node.iters) iters_.push_back({iter.var, iter.extent});
    bool good = walk(node.body);
    iters_ = std::move(outer);
    return good;
  }

  bool store(const StoreNode& node) {
    Computation c{node.buffer, node.indices, node.value, {}, {}};
    for (size_t i = 0; i < node.indices.size(); ++i) {
      const PrimExpr& index = node.indices[i];
      if (index.is_int(0) && node.buffer->shape[i].is_int(1)) continue;
      bool iterates = std::any_of(iters_.begin(), iters_.end(),
                                  [&](const Iter& iter) { return iter.var.same_as(index); });
      if (!iterates || contains(c.spatial, index)) return false;
      c.spatial.push_back(index);
    }
    bool reads_itself = false, reads_elsewhere = false;
    visit_expr(c.value, [&](const PrimExpr& e) {
      if (!is_load_of(e, c.out)) return;
      (c.is_self_load(e) ? reads_itself : reads_elsewhere) = true;
    });
    for (const Iter& iter : iters_) {
      // Without a reduction, an iterator over a single value is irrelevant.
      if (contains(c.spatial, iter.var) || (!reads_itself && iter.extent.is_int(1))) continue;
      c.reduction.push_back(iter.var);
    }
    if (reads_elsewhere || reads_itself != c.reduces()) return false;
    auto earlier = std::find_if(found.begin(), found.end(),
                                [&](const Computation& f) { return f.out == c.out; });
    if (earlier != found.end()) {
      // In plain loops a separate store just before sets a reduction's initial value.
      if (earlier + 1 != found.end() || earlier->reduces() || !c.reduces()) return false;
      found.pop_back();
    }
    found.push_back(std::move(c));
    return true;
  }

  std::vector<Iter> iters_;
};

}  // namespace

bool Computation::is_self_load(const PrimExpr& load) const {
  return is_load_of(load, out) && same_indices(load->operands, indices);
}

std::optional<std::vector<Computation>> find_computations(const PrimFunc& func) {
  Finder finder;
  if (!func.body || !finder.walk(func.body)) return std::nullopt;
  return std::move(finder.found);
}

}  // namespace tapml::analysis
