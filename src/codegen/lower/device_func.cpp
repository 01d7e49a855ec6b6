#include "codegen/lower/device_func.h"

#include <algorithm>
#include <set>

#include "arith/analyzer.h"
#include "ir/exceptions.h"
#include "tir/empty_reduction.h"
#include "tir/queries.h"
#include "tir/scalar_ranges.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// A block's body, with iterators replaced by their bindings.
Stmt open_block(const BlockNode& block) {
  VarMap values;
  PrimExpr first_step = make_bool(true);
  for (const BlockIter& iter : block.iters) {
    values[iter.var.get()] = iter.binding;
    if (iter.type == IterType::kReduce) first_step = logical_and(first_step, eq(iter.binding, 0));
  }
  Stmt body = substitute(block.body, values);
  if (block.init) {
    Stmt init = substitute(block.init, values);
    body = make_seq({first_step.is_int(1) ? init : make_if(first_step, init), body});
  }
  if (block.predicate) {
    PrimExpr predicate = tapml::substitute(block.predicate, values);
    if (!predicate.is_int(1)) body = make_if(predicate, body);
  }
  return body;
}

Stmt open_blocks(const Stmt& stmt) {
  return rewrite(stmt, {}, [](const Stmt& s) -> Stmt {
    return s->kind == StmtKind::kBlock ? open_block(as<BlockNode>(s)) : nullptr;
  });
}

// Simplifies every expression using the ranges of the loops around it.
class RangeSimplifier {
 public:
  explicit RangeSimplifier(const PrimFunc& func) { bind_scalars(func, analyzer_); }

  void bind(const Var& var, const PrimExpr& extent) { analyzer_.bind_range(var, extent); }

  PrimExpr expr(const PrimExpr& e) {
    bool data = false;
    PrimExpr result = walk(e, data);
    return data ? result : simplified(result);
  }

  Stmt operator()(const Stmt& stmt) {
    if (!stmt) return stmt;
    switch (stmt->kind) {
      case StmtKind::kFor: {
        auto node = std::make_shared<ForNode>(as<ForNode>(stmt));
        node->extent = expr(node->extent);
        bind(node->var, node->extent);
        node->body = (*this)(node->body);
        if (!node->body || node->extent.is_int(0)) return nullptr;
        if (node->extent.is_int(1)) return substitute(node->body, {{node->var.get(), 0}});
        return node;
      }
      case StmtKind::kSeq: {
        std::vector<Stmt> stmts;
        for (const Stmt& s : as<SeqNode>(stmt).stmts) {
          if (Stmt kept = (*this)(s)) stmts.push_back(kept);
        }
        return stmts.empty() ? nullptr : make_seq(std::move(stmts));
      }
      case StmtKind::kStore: {
        auto node = std::make_shared<StoreNode>(as<StoreNode>(stmt));
        for (PrimExpr& index : node->indices) index = expr(index);
        node->value = expr(node->value);
        return node;
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(stmt);
        PrimExpr condition = expr(node.condition);
        if (condition.is_int(1)) return (*this)(node.then_body);
        if (condition.is_int(0)) return (*this)(node.else_body);
        Stmt then_body = (*this)(node.then_body), else_body = (*this)(node.else_body);
        if (then_body) return make_if(condition, then_body, else_body);
        return else_body ? make_if(logical_not(condition), else_body) : nullptr;
      }
      case StmtKind::kAlloc: {
        const auto& node = as<AllocNode>(stmt);
        Stmt body = (*this)(node.body);
        return body ? make_alloc(node.buffer, body) : nullptr;
      }
      default:
        return stmt;
    }
  }

 private:
  PrimExpr simplified(const PrimExpr& e) {
    return e.dtype() == DType::kI64 || e.dtype() == DType::kBool ? analyzer_.simplify(e) : e;
  }

  // Simplifies the index arithmetic inside `e`: the analyzer assumes that it does not overflow,
  // which is false for data. Sets `data` if any of `e` is data; otherwise the caller simplifies `e`
  // as a whole.
  PrimExpr walk(const PrimExpr& e, bool& data) {
    data = e.kind() == ExprKind::kLoad || e.kind() == ExprKind::kFloat ||
           (e.is_var() && (is_float(e.dtype()) || data_vars_.contains(e.get())));
    if (e->operands.empty()) return e;
    std::vector<PrimExpr> operands;  // a copy, from the first change on
    auto operand = [&](size_t i) -> const PrimExpr& {
      return operands.empty() ? e.operand(i) : operands[i];
    };
    auto change = [&](size_t i, PrimExpr to) {
      if (to.same_as(operand(i))) return;
      if (operands.empty()) operands = e->operands;
      operands[i] = std::move(to);
    };
    constexpr size_t kMarked = 64;  // operands after these are not simplified
    uint64_t is_index = 0;
    for (size_t i = 0; i < e->operands.size(); ++i) {
      if (e.kind() == ExprKind::kLet && i == 0) continue;
      bool part = false;
      change(i, walk(e.operand(i), part));
      if (!part && i < kMarked) is_index |= uint64_t{1} << i;
      if (e.kind() == ExprKind::kLet && i == 1) {
        if (part) {
          data_vars_.insert(e.operand(0).get());
        } else if (PrimExpr known = simplified(operand(1)); known.is_int()) {
          // Decide conditions on the bound value now, such as which segment of a tensor contains a
          // row.
          return walk(tapml::substitute(e.operand(2), {{e.operand(0).get(), known}}), data);
        }
      }
      data |= part;
    }
    const bool whole = !data && (e.dtype() == DType::kI64 || e.dtype() == DType::kBool);
    for (size_t i = 0; !whole && i < std::min(e->operands.size(), kMarked); ++i) {
      if (is_index >> i & 1) change(i, simplified(operand(i)));
    }
    if (operands.empty()) return e;
    switch (e.kind()) {
      case ExprKind::kAnd:
        return logical_and(operands[0], operands[1]);
      case ExprKind::kOr:
        return logical_or(operands[0], operands[1]);
      case ExprKind::kNot:
        return logical_not(operands[0]);
      case ExprKind::kSelect:
        return select(operands[0], operands[1], operands[2]);
      default: {
        auto node = std::make_shared<tapml::ExprNode>(*e);
        node->operands = std::move(operands);
        return PrimExpr(std::move(node));
      }
    }
  }

  arith::Analyzer analyzer_;
  std::set<const tapml::ExprNode*> data_vars_;
};

// Collects the buffers and scalars that a launch uses, in the implementation's order.
void collect_arguments(DeviceFunc& launch, const std::vector<Param>& all,
                       const std::vector<Var>& scalars,
                       const std::vector<std::optional<int64_t>>& least) {
  std::set<const BufferNode*> used = loaded_buffers(launch.body);
  used.merge(stored_buffers(launch.body));
  std::vector<Var> vars;
  collect_vars(launch.extent, vars);
  visit(launch.body, {}, [&](const PrimExpr& e) { collect_vars(e, vars); });
  for (size_t i = 0; i < all.size(); ++i) {
    if (!used.contains(all[i].buffer.get())) continue;
    launch.buffers.push_back(all[i]);
    launch.buffer_indices.push_back(static_cast<int32_t>(i));
    // Row-major strides are computed from the shape.
    for (const PrimExpr& dim : all[i].buffer->shape) collect_vars(dim, vars);
  }
  for (const DeviceFunc::SharedBuffer& buffer : launch.shared) collect_vars(buffer.elements, vars);
  for (size_t i = 0; i < scalars.size(); ++i) {
    for (const Var& var : vars) {
      if (!var.same_as(scalars[i])) continue;
      launch.scalars.push_back(scalars[i]);
      launch.scalar_indices.push_back(static_cast<int32_t>(i));
      launch.least.push_back(least[i]);
      break;
    }
  }
}

// The work-group loops and the allocations that the launcher has to know.
void describe_groups(DeviceFunc& launch) {
  for (Stmt inner = launch.body; launch.thread && inner->kind == StmtKind::kFor;) {
    const auto& loop = as<ForNode>(inner);
    if (loop.for_kind != ForKind::kWorkgroup) break;
    launch.grid.push_back(loop.extent);
    inner = loop.body;
  }
  visit(launch.body, [&](const Stmt& s) {
    if (s->kind != StmtKind::kAlloc) return;
    const Buffer& buffer = as<AllocNode>(s).buffer;
    if (buffer->scope != Scope::kShared) return;
    if (!constant_size(buffer)) launch.shared.push_back({buffer_size(buffer), buffer->dtype});
  });
}

}  // namespace

int64_t shared_element_bytes(DType dtype) {
  return std::max<int64_t>(4, static_cast<int64_t>(dtype_bytes(dtype)));
}

LoweredKernel lower_prim_func(const PrimFunc& func, const std::string& prefix) {
  LoweredKernel lowered;
  Stmt body = func.body;
  // Top-level allocations may be nested in sequences: peel them from the outside.
  std::vector<Stmt> pending = {body}, nests;
  while (!pending.empty()) {
    Stmt stmt = pending.front();
    pending.erase(pending.begin());
    if (stmt->kind == StmtKind::kSeq) {
      const auto& stmts = as<SeqNode>(stmt).stmts;
      pending.insert(pending.begin(), stmts.begin(), stmts.end());
    } else if (stmt->kind == StmtKind::kAlloc &&
               as<AllocNode>(stmt).buffer->scope == Scope::kGlobal) {
      lowered.workspaces.push_back(as<AllocNode>(stmt).buffer);
      pending.insert(pending.begin(), as<AllocNode>(stmt).body);
    } else {
      nests.push_back(stmt);
    }
  }
  std::vector<Param> all = func.params;
  for (const Buffer& workspace : lowered.workspaces) {
    all.push_back({workspace, AccessMode::kWorkspace});
  }
  const std::vector<std::optional<int64_t>> least = least_scalars(func.params, func.scalars);
  int64_t workgroup = std::max<int64_t>(func.facts.workgroup_threads, 1);
  for (const Stmt& nest : nests) {
    DeviceFunc launch;
    launch.entry = prefix + "_" + std::to_string(lowered.launches.size());
    Stmt inner = nest;
    launch.item = make_var("item");
    launch.extent = 1;
    launch.workgroup_threads = workgroup;
    if (nest->kind == StmtKind::kFor) {
      const auto& loop = as<ForNode>(nest);
      if (loop.for_kind == ForKind::kParallel || loop.for_kind == ForKind::kWorkgroup) {
        launch.item = loop.var;
        launch.extent = loop.extent;
        inner = loop.body;
        if (loop.for_kind == ForKind::kWorkgroup) launch.thread = make_var("thread");
      }
    }
    RangeSimplifier simplifier(func);
    launch.extent = simplifier.expr(launch.extent);
    simplifier.bind(launch.item, launch.extent);
    launch.body = simplifier(open_blocks(initialize_empty_reductions(inner)));
    if (!launch.body) continue;
    visit(launch.body, [&](const Stmt& s) {
      if (s->kind == StmtKind::kAlloc && as<AllocNode>(s).buffer->scope == Scope::kGlobal) {
        throw_internal(
            "workspace " + as<AllocNode>(s).buffer->name + " is allocated inside a loop nest",
            "kernel " + prefix);
      }
    });
    describe_groups(launch);
    collect_arguments(launch, all, func.scalars, least);
    lowered.launches.push_back(std::move(launch));
  }
  return lowered;
}

}  // namespace tapml::codegen
