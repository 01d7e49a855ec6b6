#include "interp/shared_errors.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tir/visit.h"

namespace tapml::interp {

namespace {

// The ways in which an index depends on a variable.
enum Dependence : unsigned { kPlain = 1, kQuotient = 2, kRemainder = 4 };
using Dependences = std::map<const ExprNode*, unsigned>;

class SharedLoads {
 public:
  std::set<const ExprNode*> found;

  void run(const tir::Stmt& stmt) {
    if (!stmt) return;
    switch (stmt->kind) {
      case tir::StmtKind::kFor: {
        const auto& loop = tir::as<tir::ForNode>(stmt);
        loops_.push_back({&*loop.var, tir::stored_buffers(loop.body)});
        run(loop.body);
        loops_.pop_back();
        break;
      }
      case tir::StmtKind::kSeq:
        for (const tir::Stmt& one : tir::as<tir::SeqNode>(stmt).stmts) run(one);
        break;
      case tir::StmtKind::kIf:
        run(tir::as<tir::IfNode>(stmt).then_body);
        run(tir::as<tir::IfNode>(stmt).else_body);
        break;
      case tir::StmtKind::kAlloc:
        run(tir::as<tir::AllocNode>(stmt).body);
        break;
      case tir::StmtKind::kBlock: {
        const auto& block = tir::as<tir::BlockNode>(stmt);
        for (const tir::BlockIter& iter : block.iters) bindings_[&*iter.var] = iter.binding;
        run(block.init);
        run(block.body);
        break;
      }
      case tir::StmtKind::kStore:
        add(tir::as<tir::StoreNode>(stmt));
        break;
      default:
        break;
    }
  }

 private:
  struct Loop {
    const ExprNode* var;
    std::set<const tir::BufferNode*> stored;
  };

  void add(const tir::StoreNode& store) {
    if (!is_float(store.buffer->dtype)) return;
    visit_expr(store.value, [&](const PrimExpr& expr) {
      if (expr.kind() == ExprKind::kLet) bindings_[&*expr.operand(0)] = expr.operand(1);
    });
    visit_expr(store.value, [&](const PrimExpr& expr) {
      if (expr.kind() != ExprKind::kLoad || !is_float(expr.dtype())) return;
      if (uses(store.value, expr) > 1 || is_repeated(expr)) found.insert(&*expr);
    });
  }

  bool is_repeated(const PrimExpr& load) const {
    const tir::Buffer buffer = tir::load_buffer(load);
    Dependences dependences;
    for (const PrimExpr& index : load->operands) add_dependences(index, kPlain, dependences);
    for (const Loop& loop : loops_) {
      if (loop.stored.contains(&*buffer)) continue;
      const auto one = dependences.find(loop.var);
      // A quotient or a remainder alone is the same in several steps.
      if (one == dependences.end() || one->second == kQuotient || one->second == kRemainder) {
        return true;
      }
    }
    return false;
  }

  void add_dependences(const PrimExpr& expr, unsigned way, Dependences& to) const {
    if (expr.kind() == ExprKind::kVar) {
      const auto bound = bindings_.find(&*expr);
      if (bound != bindings_.end()) return add_dependences(bound->second, way, to);
      to[&*expr] |= way;
      return;
    }
    if (expr.kind() == ExprKind::kFloorDiv) way = kQuotient;
    if (expr.kind() == ExprKind::kFloorMod) way = kRemainder;
    for (const PrimExpr& operand : expr->operands) add_dependences(operand, way, to);
  }

  std::vector<Loop> loops_;
  std::map<const ExprNode*, PrimExpr> bindings_;
};

}  // namespace

int uses(const PrimExpr& expr, const PrimExpr& part) {
  if (same_expr(expr, part)) return 1;
  if (!is_float(expr.dtype()) || expr.kind() == ExprKind::kLoad) return 0;
  if (expr.kind() == ExprKind::kSelect) {
    return std::max(uses(expr.operand(1), part), uses(expr.operand(2), part));
  }
  int count = 0;
  for (const PrimExpr& operand : expr->operands) count += uses(operand, part);
  return count;
}

std::set<const ExprNode*> shared_loads(const tir::PrimFunc& func) {
  SharedLoads loads;
  loads.run(func.body);
  return std::move(loads.found);
}

namespace {

// Whether a step of a loop of floats reads what an earlier step left in a buffer that it updates:
// the state of a scan, but not a sum that each step begins anew, or that is read after the loop.
bool carries_state(const tir::Stmt& body) {
  std::set<const tir::BufferNode*> updated, begun;
  std::map<const tir::BufferNode*, std::set<const tir::BufferNode*>> readers;
  tir::visit(body, [&](const tir::Stmt& stmt) {
    if (stmt->kind == tir::StmtKind::kAlloc) begun.insert(&*tir::as<tir::AllocNode>(stmt).buffer);
    if (stmt->kind != tir::StmtKind::kStore) return;
    const auto& store = tir::as<tir::StoreNode>(stmt);
    if (!is_float(store.buffer->dtype)) return;
    bool reads_itself = false;
    visit_expr(store.value, [&](const PrimExpr& expr) {
      if (expr.kind() != ExprKind::kLoad) return;
      const tir::Buffer loaded = tir::load_buffer(expr);
      reads_itself |= loaded == store.buffer;
      readers[&*loaded].insert(&*store.buffer);
    });
    (reads_itself ? updated : begun).insert(&*store.buffer);
  });
  return std::ranges::any_of(updated, [&](const tir::BufferNode* buffer) {
    return !begun.contains(buffer) && readers[buffer].size() > 1;
  });
}

}  // namespace

bool has_recurrence(const tir::PrimFunc& func) {
  bool found = false;
  tir::visit(func.body, [&](const tir::Stmt& stmt) {
    if (stmt->kind == tir::StmtKind::kFor) found |= carries_state(tir::as<tir::ForNode>(stmt).body);
  });
  tir::visit(func.body, [&](const tir::Stmt& stmt) {
    if (stmt->kind != tir::StmtKind::kStore) return;
    const auto& store = tir::as<tir::StoreNode>(stmt);
    if (!is_float(store.buffer->dtype)) return;
    visit_expr(store.value, [&](const PrimExpr& expr) {
      if (expr.kind() != ExprKind::kLoad || tir::load_buffer(expr) != store.buffer) return;
      for (size_t d = 0; d < store.indices.size(); ++d) {
        found |= !same_expr(expr->operands.at(d), store.indices[d]);
      }
    });
  });
  return found;
}

}  // namespace tapml::interp
