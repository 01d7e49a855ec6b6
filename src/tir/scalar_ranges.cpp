#include "tir/scalar_ranges.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/queries.h"
#include "ir/symbol.h"
#include "tir/visit.h"

namespace tapml::tir {

namespace {

class LoopCounter {
 public:
  explicit LoopCounter(const PrimFunc& func) : func_(func) {
    for (const Param& param : func.params) {
      for (const PrimExpr& dim : param.buffer->shape) {
        if (dim.is_var()) sizes_.insert(dim.get());
      }
    }
  }

  Stmt walk(const Stmt& stmt) {
    if (!stmt) return stmt;
    switch (stmt->kind) {
      case StmtKind::kFor: {
        const auto& loop = as<ForNode>(stmt);
        PrimExpr extent = counted(loop.extent);
        loops_.emplace_back(loop.var, extent);
        Stmt body = walk(loop.body);
        if (extent.same_as(loop.extent) && body == loop.body) return stmt;
        return make_for(loop.var, std::move(extent), std::move(body), loop.for_kind);
      }
      case StmtKind::kSeq: {
        bool changed = false;
        std::vector<Stmt> stmts;
        for (const Stmt& s : as<SeqNode>(stmt).stmts) {
          stmts.push_back(walk(s));
          changed |= stmts.back() != s;
        }
        return changed ? make_seq(std::move(stmts)) : stmt;
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(stmt);
        Stmt then_body = walk(node.then_body), else_body = walk(node.else_body);
        if (then_body == node.then_body && else_body == node.else_body) return stmt;
        return make_if(node.condition, std::move(then_body), std::move(else_body));
      }
      case StmtKind::kAlloc: {
        const auto& node = as<AllocNode>(stmt);
        Stmt body = walk(node.body);
        bool changed = false;
        Dims shape;
        for (const PrimExpr& dim : node.buffer->shape) {
          shape.push_back(counted(dim));
          changed |= !shape.back().same_as(dim);
        }
        if (!changed) return body == node.body ? stmt : make_alloc(node.buffer, std::move(body));
        auto buffer = std::make_shared<BufferNode>(*node.buffer);
        buffer->shape = std::move(shape);
        return make_alloc(buffer, replace_buffers(body, {{node.buffer.get(), buffer}}));
      }
      case StmtKind::kBlock:
        return block(stmt);
      case StmtKind::kStore:
      case StmtKind::kBarrier:
      case StmtKind::kMatrix:
      case StmtKind::kCopyAsync:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        return stmt;
    }
    return stmt;
  }

 private:
  // An extent read from data concerns one loop alone, which has no iterations below 0 anyway.
  PrimExpr counted(const PrimExpr& extent) {
    if (is_count(extent)) return extent;
    if (!std::exchange(knows_scalars_, true)) bind_scalars(func_, analyzer_);
    for (const auto& [var, range] : std::exchange(loops_, {})) analyzer_.bind_range(var, range);
    if (has_load(extent) || analyzer_.prove_less_equal(make_int(0, extent.dtype()), extent)) {
      return extent;
    }
    return max(extent, make_int(0, extent.dtype()));
  }

  // Whether the form of `e` shows that it is at least 0, as for nearly all extents.
  bool is_count(const PrimExpr& e) const {
    switch (e.kind()) {
      case tapml::ExprKind::kInt:
        return e->int_value >= 0;
      case tapml::ExprKind::kVar:
        return sizes_.contains(e.get());
      case tapml::ExprKind::kAdd:
      case tapml::ExprKind::kMul:
      case tapml::ExprKind::kFloorDiv:
      case tapml::ExprKind::kFloorMod:
      case tapml::ExprKind::kMin:
        return is_count(e.operand(0)) && is_count(e.operand(1));
      case tapml::ExprKind::kMax:
        return is_count(e.operand(0)) || is_count(e.operand(1));
      default:
        return false;
    }
  }

  Stmt block(const Stmt& stmt) {
    const auto& node = as<BlockNode>(stmt);
    auto copy = std::make_shared<BlockNode>(node);
    bool changed = false;
    for (BlockIter& iter : copy->iters) {
      PrimExpr extent = counted(iter.extent);
      changed |= !extent.same_as(iter.extent);
      iter.extent = std::move(extent);
      loops_.emplace_back(iter.var, iter.extent);
    }
    copy->init = walk(node.init);
    copy->body = walk(node.body);
    changed |= copy->init != node.init || copy->body != node.body;
    return changed ? copy : stmt;
  }

  const PrimFunc& func_;
  std::set<const tapml::ExprNode*> sizes_;  // dimensions of the parameters
  arith::Analyzer analyzer_;                // gets facts only when a query needs them
  bool knows_scalars_ = false;
  std::vector<std::pair<Var, PrimExpr>> loops_;  // not yet added to the analyzer
};

std::map<const ExprNode*, int64_t> least_of(const std::vector<Param>& params) {
  std::map<const ExprNode*, int64_t> least;
  for (const Param& param : params) {
    for (const PrimExpr& dim : param.buffer->shape) {
      auto one = least_of_dimension(dim);
      if (!one) continue;
      auto [known, fresh] = least.emplace(one->var.get(), one->least);
      if (!fresh) known->second = std::max(known->second, one->least);
    }
  }
  return least;
}

}  // namespace

std::vector<std::optional<int64_t>> least_scalars(const std::vector<Param>& params,
                                                  const std::vector<Var>& scalars) {
  const std::map<const ExprNode*, int64_t> least = least_of(params);
  std::vector<std::optional<int64_t>> result;
  for (const Var& scalar : scalars) {
    auto known = least.find(scalar.get());
    result.push_back(known == least.end() ? std::nullopt : std::optional(known->second));
  }
  return result;
}

void bind_dimensions(const std::vector<Param>& params, arith::Analyzer& analyzer) {
  for (const Param& param : params) {
    for (const PrimExpr& dim : param.buffer->shape) {
      if (dim.is_int() || dim.is_var() || analyzer.prove_less_equal(0, dim)) continue;
      analyzer.assume(le(0, dim));
    }
  }
}

void bind_scalars(const PrimFunc& func, arith::Analyzer& analyzer) {
  const std::vector<std::optional<int64_t>> least = least_scalars(func.params, func.scalars);
  for (size_t i = 0; i < func.scalars.size(); ++i) {
    analyzer.bind(func.scalars[i], least[i], std::nullopt);
  }
  bind_dimensions(func.params, analyzer);
}

PrimFuncRef with_counted_loops(const PrimFuncRef& func) {
  Stmt body = LoopCounter(*func).walk(func->body);
  if (body == func->body) return func;
  auto result = std::make_shared<PrimFunc>(*func);
  result->body = std::move(body);
  return result;
}

}  // namespace tapml::tir
