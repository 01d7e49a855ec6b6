#include "analysis/cost.h"

#include "arith/analyzer.h"

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

class Counter {
 public:
  PrimExpr flops(const Stmt& s) {
    if (!s) return 0;
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto& loop = as<ForNode>(s);
        PrimExpr extent = largest(loop.extent);
        last_[loop.var.get()] = extent - 1;
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
        for (const PrimExpr& index : store.indices) count += operations(index);
        return count;
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        return flops(node.then_body) + flops(node.else_body) + operations(node.condition);
      }
      case StmtKind::kAlloc:
        return flops(as<AllocNode>(s).body);
      case StmtKind::kBlock: {
        const auto& block = as<BlockNode>(s);
        for (const BlockIter& iter : block.iters) last_[iter.var.get()] = iter.extent - 1;
        return flops(block.body);
      }
      case StmtKind::kBarrier:
        return 0;
    }
    return 0;
  }

  bool exact = true;

 private:
  // The extent with outer iterators at their last value, over the scalars alone.
  PrimExpr largest(const PrimExpr& extent) {
    bool loads = false;
    visit_expr(extent, [&](const PrimExpr& e) { loads |= e.kind() == tapml::ExprKind::kLoad; });
    if (loads) {
      exact = false;
      return 1;
    }
    return tapml::substitute(extent, last_);
  }

  VarMap last_;
};

}  // namespace

Cost cost_of(const PrimFunc& func) {
  arith::Analyzer analyzer;
  Counter counter;
  Cost cost;
  cost.flops = analyzer.simplify(counter.flops(func.body));
  PrimExpr bytes = 0;
  for (const Param& param : func.params) {
    int64_t times = param.mode == AccessMode::kInOut ? 2 : 1;
    auto element = static_cast<int64_t>(dtype_bytes(param.buffer->dtype));
    bytes = bytes + buffer_size(param.buffer) * PrimExpr(times * element);
  }
  cost.bytes = analyzer.simplify(bytes);
  cost.exact = counter.exact;
  return cost;
}

}  // namespace tapml::analysis
