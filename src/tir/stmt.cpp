#include "tir/stmt.h"

namespace tapml::tir {

const char* for_kind_name(ForKind kind) {
  switch (kind) {
    case ForKind::kSerial:
      return "serial";
    case ForKind::kParallel:
      return "parallel";
    case ForKind::kVectorized:
      return "vectorized";
    case ForKind::kUnrolled:
      return "unrolled";
    case ForKind::kWorkgroup:
      return "workgroup";
    case ForKind::kThread:
      return "thread";
  }
  return "serial";
}

Stmt make_for(Var var, PrimExpr extent, Stmt body, ForKind kind) {
  auto node = std::make_shared<ForNode>();
  node->var = std::move(var);
  node->extent = std::move(extent);
  node->for_kind = kind;
  node->body = std::move(body);
  return node;
}

Stmt make_seq(std::vector<Stmt> stmts) {
  auto node = std::make_shared<SeqNode>();
  for (Stmt& stmt : stmts) {
    if (!stmt) continue;
    if (stmt->kind == StmtKind::kSeq) {
      const auto& inner = as<SeqNode>(stmt).stmts;
      node->stmts.insert(node->stmts.end(), inner.begin(), inner.end());
    } else {
      node->stmts.push_back(std::move(stmt));
    }
  }
  if (node->stmts.size() == 1) return node->stmts[0];
  return node;
}

Stmt make_store(Buffer buffer, std::vector<PrimExpr> indices, PrimExpr value) {
  auto node = std::make_shared<StoreNode>();
  node->buffer = std::move(buffer);
  node->indices = std::move(indices);
  node->value = std::move(value);
  return node;
}

Stmt make_if(PrimExpr condition, Stmt then_body, Stmt else_body) {
  auto node = std::make_shared<IfNode>();
  node->condition = std::move(condition);
  node->then_body = std::move(then_body);
  node->else_body = std::move(else_body);
  return node;
}

Stmt make_alloc(Buffer buffer, Stmt body) {
  auto node = std::make_shared<AllocNode>();
  node->buffer = std::move(buffer);
  node->body = std::move(body);
  return node;
}

Stmt make_barrier() { return std::make_shared<BarrierNode>(); }

}  // namespace tapml::tir
