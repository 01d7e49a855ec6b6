#include "schedule/rules/integer_product.h"

#include "schedule/rules/weight_panels.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kLargestNibble = 15, kLargestByte = 255;

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

// The largest value of an expression of masked bits, which is at least 0; -1 for another one.
int64_t largest_of_bits(const PrimExpr& e) {
  if (is_call(e, "bit_and") && e.operand(1).is_int()) return e.operand(1)->int_value;
  if (is_call(e, "shift_left") && e.operand(1).is_int()) {
    const int64_t part = largest_of_bits(e.operand(0)), shift = e.operand(1)->int_value;
    return part < 0 || shift > 8 ? -1 : part << shift;
  }
  if (is_call(e, "bit_or")) {
    const int64_t a = largest_of_bits(e.operand(0)), b = largest_of_bits(e.operand(1));
    return a < 0 || b < 0 ? -1 : a | b;
  }
  return -1;
}

// Whether all that is loaded is of a row of bytes.
bool loads_bytes_of(const PrimExpr& e, const BlockIter& lane) {
  bool suits = true;
  visit_expr(e, [&](const PrimExpr& part) {
    if (part.kind() != ExprKind::kLoad) return;
    suits &= is_of_lane(part, lane) && load_buffer(part)->dtype == DType::kU8;
  });
  return suits;
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
    product.is_whole = product.is_signed = true;
    product.weight = level;
    return true;
  }
  if (level.kind() == ExprKind::kSub && level.operand(1).is_int()) {
    product.zero = level.operand(1)->int_value;
    level = level.operand(0);
  }
  const int64_t largest = largest_of_bits(level);
  if (largest < 0 || largest > kLargestByte || !loads_bytes_of(level, product.lane)) return false;
  product.is_whole = largest > kLargestNibble;
  product.weight = level;
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
  product.step = step.var;
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
