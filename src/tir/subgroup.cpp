#include "tir/subgroup.h"

#include "tir/visit.h"

namespace tapml::tir {

namespace {

struct NamedSubgroupOp {
  const char* name;
  SubgroupOp op;
};
constexpr NamedSubgroupOp kSubgroupOps[] = {{"subgroup_sum", SubgroupOp::kSum},
                                            {"subgroup_max", SubgroupOp::kMax},
                                            {"subgroup_min", SubgroupOp::kMin},
                                            {"subgroup_shuffle_xor", SubgroupOp::kShuffleXor}};

}  // namespace

std::optional<SubgroupOp> find_subgroup_op(std::string_view name) {
  for (const NamedSubgroupOp& known : kSubgroupOps) {
    if (name == known.name) return known.op;
  }
  return std::nullopt;
}

const char* subgroup_op_name(SubgroupOp op) {
  for (const NamedSubgroupOp& known : kSubgroupOps) {
    if (op == known.op) return known.name;
  }
  return "";
}

size_t subgroup_operands(SubgroupOp op) { return op == SubgroupOp::kShuffleXor ? 3 : 2; }

PrimExpr subgroup_call(const SubgroupCall& call) {
  std::vector<PrimExpr> operands = {call.value};
  if (call.op == SubgroupOp::kShuffleXor) operands.emplace_back(call.mask);
  operands.emplace_back(call.width);
  return make_call(subgroup_op_name(call.op), call.value.dtype(), std::move(operands));
}

std::optional<SubgroupCall> as_subgroup_call(const PrimExpr& expr) {
  if (!expr || expr.kind() != ExprKind::kCall) return std::nullopt;
  const auto op = find_subgroup_op(expr->name);
  if (!op || expr->operands.size() != subgroup_operands(*op)) return std::nullopt;
  for (const PrimExpr& operand : expr->operands) {
    if (!operand) return std::nullopt;
  }
  SubgroupCall call{*op, expr.operand(0), 0, 0};
  if (*op == SubgroupOp::kShuffleXor) call.mask = expr.operand(1)->int_value;
  call.width = expr->operands.back()->int_value;
  return call;
}

bool has_subgroup_ops(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32;
}

std::optional<ExprKind> combination_of(SubgroupOp op) {
  switch (op) {
    case SubgroupOp::kSum:
      return ExprKind::kAdd;
    case SubgroupOp::kMax:
      return ExprKind::kMax;
    case SubgroupOp::kMin:
      return ExprKind::kMin;
    case SubgroupOp::kShuffleXor:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<SubgroupOp> subgroup_reduction(ExprKind combination) {
  for (const NamedSubgroupOp& known : kSubgroupOps) {
    if (combination_of(known.op) == combination) return known.op;
  }
  return std::nullopt;
}

bool joins_threads(const Stmt& stmt) {
  if (stmt->kind == StmtKind::kBarrier || stmt->kind == StmtKind::kMatrix) return true;
  return stmt->kind == StmtKind::kStore && as_subgroup_call(as<StoreNode>(stmt).value).has_value();
}

bool has_joint(const Stmt& stmt) {
  bool found = false;
  visit(stmt, [&](const Stmt& s) { found |= joins_threads(s); });
  return found;
}

}  // namespace tapml::tir
