#include "schedule/rules/integer_product.h"

#include "schedule/rules/weight_panels.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

const PrimExpr& without_cast(const PrimExpr& e) {
  return e.kind() == ExprKind::kCast ? e.operand(0) : e;
}

bool is_call(const PrimExpr& e, const char* name) {
  return e.kind() == ExprKind::kCall && e->name == name;
}

// A load whose last index is k, or k // divisor.
bool is_load_at(const PrimExpr& e, const Var& k, int64_t divisor) {
  if (e.kind() != ExprKind::kLoad || e->operands.empty()) return false;
  const PrimExpr& last = e->operands.back();
  if (divisor == 1) return last.same_as(k);
  return last.kind() == ExprKind::kFloorDiv && last.operand(0).same_as(k) &&
         last.operand(1).is_int(divisor);
}

// The divisor c of a load at k // c; 0 for another expression.
int64_t group_of(const PrimExpr& e, const Var& k) {
  if (e.kind() != ExprKind::kLoad || e->operands.empty()) return 0;
  const PrimExpr& last = e->operands.back();
  const bool is_quotient =
      last.kind() == ExprKind::kFloorDiv && last.operand(0).same_as(k) && last.operand(1).is_int();
  return is_quotient ? last.operand(1)->int_value : 0;
}

// A load of a matrix at [lane, ...].
bool is_of_lane(const PrimExpr& e, const BlockIter& lane) {
  return e->operands.size() == 2 && e.operand(0).same_as(lane.var);
}

// bit_and(shift_right(cast(i32, packed[lane, k // 2]), cast(i32, k % 2 * 4)), 15): the load, or
// null.
PrimExpr load_of_nibble(const PrimExpr& e, const Var& k) {
  if (!is_call(e, "bit_and") || !e.operand(1).is_int(15)) return {};
  const PrimExpr& shifted = e.operand(0);
  if (!is_call(shifted, "shift_right")) return {};
  const PrimExpr& half = without_cast(shifted.operand(1));
  const bool is_half = half.kind() == ExprKind::kMul && half.operand(1).is_int(4) &&
                       half.operand(0).kind() == ExprKind::kFloorMod &&
                       half.operand(0).operand(0).same_as(k) &&
                       half.operand(0).operand(1).is_int(2);
  const PrimExpr& byte = without_cast(shifted.operand(0));
  const bool suits = is_half && is_load_at(byte, k, 2) && load_buffer(byte)->dtype == DType::kU8;
  return suits ? byte : PrimExpr();
}

// The parts of the weights; false if they have another form.
bool read_weights(IntegerProduct& product, PrimExpr right, const Var& k) {
  if (right.kind() == ExprKind::kAdd) {
    const PrimExpr minimum = without_cast(right.operand(1));
    if (group_of(minimum, k) == 0 || !is_of_lane(minimum, product.lane)) return false;
    product.minimums = load_buffer(minimum);
    product.group = group_of(minimum, k);
    right = right.operand(0);
  }
  if (right.kind() != ExprKind::kMul) return false;
  const PrimExpr scale = without_cast(right.operand(1));
  const int64_t group = group_of(scale, k);
  if (group == 0 || !is_of_lane(scale, product.lane)) return false;
  if (product.minimums && group != product.group) return false;
  product.group = group;
  product.scales = load_buffer(scale);
  if (right.operand(0).kind() != ExprKind::kCast) return false;
  PrimExpr level = right.operand(0).operand(0);
  if (is_load_at(level, k, 1) && is_of_lane(level, product.lane) && level.dtype() == DType::kI8) {
    product.is_whole = true;
    product.packed = load_buffer(level);
    return true;
  }
  if (level.kind() == ExprKind::kSub && level.operand(1).is_int()) {
    product.zero = level.operand(1)->int_value;
    level = level.operand(0);
  }
  const PrimExpr byte = load_of_nibble(level, k);
  if (!byte || !is_of_lane(byte, product.lane)) return false;
  product.packed = load_buffer(byte);
  return true;
}

}  // namespace

std::optional<IntegerProduct> find_integer_product(const Stage& stage,
                                                   const std::vector<Buffer>& weights) {
  if (weights.empty() || stage.reduction.size() != 1 || stage.out->dtype != DType::kF32) {
    return std::nullopt;
  }
  const BlockIter& step = stage.reduction[0];
  const std::optional<Product> found = find_product(stage);
  if (!found || !step.extent.is_int() || !found->lane.extent.is_int()) return std::nullopt;
  if (!is_of_weights(found->right, weights, stage, found->lane)) return std::nullopt;
  for (const BlockIter& iter : found->outer) {
    if (!iter.extent.is_int(1)) return std::nullopt;
  }
  IntegerProduct product;
  product.rows = found->rows;
  product.lane = found->lane;
  if (!read_weights(product, found->right, step.var)) return std::nullopt;
  const PrimExpr& left = found->left;
  if (left.kind() != ExprKind::kMul || left.operand(0).kind() != ExprKind::kCast) {
    return std::nullopt;
  }
  product.level = left.operand(0).operand(0);
  product.scale = left.operand(1);
  const int64_t elements_of_word = product.is_whole ? 4 : 8;
  const bool suits =
      is_load_at(product.level, step.var, 1) && product.level.dtype() == DType::kI8 &&
      group_of(product.scale, step.var) == product.group && product.group % elements_of_word == 0 &&
      step.extent->int_value % product.group == 0;
  return suits ? std::optional(product) : std::nullopt;
}

}  // namespace tapml::schedule
