#include "analysis/cost.h"

#include <algorithm>
#include <map>
#include <set>

#include "arith/analyzer.h"
#include "ir/queries.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"

namespace tapml::analysis {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

int64_t operations(const PrimExpr& e) {
  int64_t count = 0;
  for (const PrimExpr& operand : e->operands) count += operations(operand);
  switch (e.kind()) {
    case tapml::ExprKind::kAdd:
    case tapml::ExprKind::kSub:
    case tapml::ExprKind::kMul:
    case tapml::ExprKind::kDiv:
    case tapml::ExprKind::kMin:
    case tapml::ExprKind::kMax:
      return count + (is_float(e.dtype()) ? 1 : 0);
    case tapml::ExprKind::kEq:
    case tapml::ExprKind::kNe:
    case tapml::ExprKind::kLt:
    case tapml::ExprKind::kLe:
      return count + (is_float(e.operand(0).dtype()) ? 1 : 0);
    case tapml::ExprKind::kCall:
      if (!is_float(e.operand(0).dtype()) || e->name == "reinterpret") return count;
      return count + (e->name == "fma" ? 2 : 1);
    default:
      return count;
  }
}

using Indices = std::vector<PrimExpr>;

// The elements of a buffer that the program reads, or those that it writes.
class Touched {
 public:
  void add(const Indices& indices, const PrimExpr& elements) {
    for (const Indices& known : places_) {
      if (std::ranges::equal(known, indices, same_expr)) return;
    }
    places_.push_back(indices);
    elements_.push_back(elements);
  }
  // Number of elements, at most the size of the buffer.
  PrimExpr elements(const PrimExpr& size, arith::Analyzer& analyzer) const {
    PrimExpr sum = 0;
    for (const PrimExpr& elements : elements_) {
      if (analyzer.prove_less_equal(size, elements)) return size;
      sum = sum + elements;
    }
    return min(sum, size);
  }

 private:
  std::vector<Indices> places_;
  std::vector<PrimExpr> elements_;  // for each of them
};

class Counter {
 public:
  PrimExpr flops(const Stmt& s) {
    if (!s) return 0;
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto& loop = as<ForNode>(s);
        look(loop.extent);
        PrimExpr extent = largest(loop.extent);
        iterate(loop.var, extent);
        return extent * flops(loop.body);
      }
      case StmtKind::kSeq: {
        PrimExpr sum = 0;
        for (const Stmt& inner : as<SeqNode>(s).stmts) sum = sum + flops(inner);
        return sum;
      }
      case StmtKind::kStore: {
        const auto& store = as<StoreNode>(s);
        int64_t count = operations(store.value);
        look(store.value);
        for (const PrimExpr& index : store.indices) {
          count += operations(index);
          look(index);
        }
        written_[store.buffer.get()].add(store.indices, passed_by(store.indices));
        return count;
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        look(node.condition);
        if (ends_with_data(node.condition)) exact = false;
        return flops(node.then_body) + flops(node.else_body) + operations(node.condition);
      }
      case StmtKind::kAlloc:
        return flops(as<AllocNode>(s).body);
      case StmtKind::kBlock: {
        const auto& block = as<BlockNode>(s);
        for (const BlockIter& iter : block.iters) iterate(iter.var, largest(iter.extent));
        return flops(block.body);
      }
      case StmtKind::kMatrix:
        return matrix(as<MatrixNode>(s));
      case StmtKind::kCopyAsync: {
        const auto& copy = as<CopyAsyncNode>(s);
        read_[copy.from.buffer.get()].add(copy.from.begins, box(copy.from));
        written_[copy.to.buffer.get()].add(copy.to.begins, box(copy.to));
        return 0;
      }
      case StmtKind::kBarrier:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        return 0;
    }
    return 0;
  }

  // Elements that are read plus elements that are written; a partial result of a reduction in an
  // output does not count, because it need not be in memory.
  PrimExpr touched(const Param& param, arith::Analyzer& analyzer) const {
    const PrimExpr size = buffer_size(param.buffer);
    PrimExpr sum = 0;
    for (const auto* by_buffer : {&read_, &written_}) {
      if (by_buffer == &read_ && param.mode == AccessMode::kOut) continue;
      auto found = by_buffer->find(param.buffer.get());
      if (found != by_buffer->end()) sum = sum + found->second.elements(size, analyzer);
    }
    return sum;
  }

  bool exact = true;

 private:
  // Each thread of the subgroup does its share.
  PrimExpr matrix(const MatrixNode& node) {
    const int64_t elements = fragment_rows(*node.fragment) * fragment_columns(*node.fragment);
    if (node.memory) {
      Touched& touched = (node.op == MatrixOp::kLoad ? read_ : written_)[node.memory.get()];
      touched.add(node.indices, passed_by(node.indices) * PrimExpr(elements));
    }
    if (node.op != MatrixOp::kMultiplyAdd || !is_float(node.fragment->dtype)) return 0;
    return 2 * elements * fragment_columns(*node.left) / std::max<int64_t>(node.width, 1);
  }

  PrimExpr box(const Region& region) const {
    PrimExpr elements = passed_by(region.begins);
    for (const PrimExpr& extent : region.extents) elements = elements * extent;
    return elements;
  }

  // The extent with outer iterators at their last value, over the scalars alone.
  PrimExpr largest(const PrimExpr& extent) {
    if (has_load(extent)) {
      exact = false;
      return 1;
    }
    return tapml::substitute(extent, last_);
  }

  void iterate(const Var& var, const PrimExpr& extent) {
    extents_[var.get()] = extent;
    last_[var.get()] = extent - 1;
  }

  // Elements at these indices: one for each value of the iterators in them.
  PrimExpr passed_by(const Indices& indices) const {
    std::vector<Var> vars;
    for (const PrimExpr& index : indices) collect_vars(index, vars);
    std::set<const ExprNode*> known;
    PrimExpr product = 1;
    for (size_t i = 0; i < vars.size(); ++i) {  // grows by the values of lets
      if (!known.insert(vars[i].get()).second) continue;
      if (auto value = lets_.find(vars[i].get()); value != lets_.end()) {
        collect_vars(value->second, vars);
      }
      auto extent = extents_.find(vars[i].get());
      if (extent != extents_.end()) product = product * extent->second;
    }
    return product;
  }

  // Records what the expression reads.
  void look(const PrimExpr& root) {
    visit_expr(root, [&](const PrimExpr& e) {
      if (e.kind() == tapml::ExprKind::kLet) lets_[e.operand(0).get()] = e.operand(1);
    });
    visit_expr(root, [&](const PrimExpr& e) {
      if (e.kind() == tapml::ExprKind::kLoad) {
        const auto* buffer = static_cast<const BufferNode*>(e->object.get());
        read_[buffer].add(e->operands, passed_by(e->operands));
      } else if (e.kind() == tapml::ExprKind::kSelect && ends_with_data(e.operand(0)) &&
                 (has_load(e.operand(1)) || has_load(e.operand(2)))) {
        exact = false;
      }
    });
  }

  // Whether a comparison compares an iterator with data in memory, so that data determines which
  // iterations do work.
  bool ends_with_data(const PrimExpr& condition) const {
    bool found = false;
    visit_expr(condition, [&](const PrimExpr& e) {
      found |= is_comparison(e.kind()) && has_load(e) && iterates(e);
    });
    return found;
  }

  // Whether the value depends on an iterator other than through memory.
  bool iterates(const PrimExpr& e) const {
    if (e.kind() == tapml::ExprKind::kLoad) return false;
    if (e.is_var()) {
      auto value = lets_.find(e.get());
      return value != lets_.end() ? iterates(value->second) : extents_.contains(e.get());
    }
    return std::ranges::any_of(e->operands, [&](const PrimExpr& part) { return iterates(part); });
  }

  VarMap extents_, last_;  // of iterators
  VarMap lets_;
  std::map<const BufferNode*, Touched> read_, written_;
};

}  // namespace

Cost cost_of(const PrimFunc& func) {
  arith::Analyzer analyzer;
  Counter counter;
  Cost cost;
  cost.flops = analyzer.simplify(counter.flops(func.body));
  PrimExpr bytes = 0;
  for (const Param& param : func.params) {
    auto element = static_cast<int64_t>(dtype_bytes(param.buffer->dtype));
    bytes = bytes + counter.touched(param, analyzer) * PrimExpr(element);
  }
  cost.bytes = analyzer.simplify(bytes);
  cost.exact = counter.exact;
  return cost;
}

}  // namespace tapml::analysis
