// Operand counts and dtypes of scalar expressions.
#include <bit>
#include <limits>

#include "analysis/verifier_impl.h"
#include "ir/intrinsics.h"
#include "text/printer.h"
#include "tir/subgroup.h"

namespace tapml::analysis {

namespace {

constexpr size_t kAny = std::numeric_limits<size_t>::max();

size_t operand_count(const PrimExpr& e) {
  switch (e.kind()) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
      return 0;
    case ExprKind::kNot:
    case ExprKind::kCast:
      return 1;
    case ExprKind::kSelect:
    case ExprKind::kLet:
      return 3;
    case ExprKind::kCall: {
      const IntrinsicInfo* info = find_intrinsic(e->name);
      if (info) return static_cast<size_t>(info->operands);
      const auto subgroup = tir::find_subgroup_op(e->name);
      return subgroup ? tir::subgroup_operands(*subgroup) : kAny;
    }
    case ExprKind::kLoad:
      return kAny;
    default:
      return 2;
  }
}

bool fits(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return value == 0 || value == 1;
    case DType::kI8:
      return value >= -128 && value <= 127;
    case DType::kI16:
      return value >= -32768 && value <= 32767;
    case DType::kI32:
      return value >= std::numeric_limits<int32_t>::min() &&
             value <= std::numeric_limits<int32_t>::max();
    case DType::kU8:
      return value >= 0 && value <= 255;
    case DType::kU16:
      return value >= 0 && value <= 65535;
    case DType::kU32:
      return value >= 0 && value <= std::numeric_limits<uint32_t>::max();
    default:
      return is_integer(dtype);  // all 64 bits, read as unsigned for u64
  }
}

class ExprChecker {
 public:
  explicit ExprChecker(Report& report) : report_(report) {}

  void check(const PrimExpr& e) {
    if (!e) return report_.add("T9", "an operand is missing");
    for (const PrimExpr& operand : e->operands) check(operand);
    for (const PrimExpr& operand : e->operands) {
      if (!operand) return;
    }
    size_t count = operand_count(e);
    if (count != kAny && e->operands.size() != count) {
      return fail(e, "takes " + std::to_string(count) + " operands");
    }
    one(e);
  }

 private:
  void fail(const PrimExpr& e, const std::string& what) {
    report_.add("T9", text::print(e) + " " + what);
  }

  void same_operands(const PrimExpr& e, size_t first) {
    if (e.operand(first).dtype() == e.operand(first + 1).dtype()) return;
    fail(e, std::string("has operands of different dtypes, ") +
                dtype_name(e.operand(first).dtype()) + " and " +
                dtype_name(e.operand(first + 1).dtype()));
  }

  void result(const PrimExpr& e, DType expected) {
    if (e.dtype() == expected) return;
    fail(e,
         std::string("has dtype ") + dtype_name(e.dtype()) + " instead of " + dtype_name(expected));
  }

  void subgroup(const PrimExpr& e) {
    if (!tir::has_subgroup_ops(e.operand(0).dtype())) {
      return fail(
          e, "has a dtype that subgroup operations do not support; f32, i32 and u32 are supported");
    }
    result(e, e.operand(0).dtype());
    for (size_t i = 1; i < e->operands.size(); ++i) {
      if (!e.operand(i).is_int()) return fail(e, "has a mask or a width that is not constant");
    }
    const tir::SubgroupCall call = *tir::as_subgroup_call(e);
    if (call.width < 2 || !std::has_single_bit(static_cast<uint64_t>(call.width))) {
      fail(e, "has a width that is not a power of two of at least 2");
    } else if (call.op == tir::SubgroupOp::kShuffleXor &&
               (call.mask < 1 || call.mask >= call.width)) {
      fail(e, "has a mask that is not from 1 to width - 1");
    }
  }

  void call(const PrimExpr& e) {
    if (tir::find_subgroup_op(e->name)) return subgroup(e);
    const IntrinsicInfo* info = find_intrinsic(e->name);
    if (!info) return fail(e, "calls an unknown scalar function");
    DType operand = e.operand(0).dtype();
    if (e->name == "reinterpret") {
      if (dtype_bytes(operand) != dtype_bytes(e.dtype())) fail(e, "changes the width");
      return;
    }
    switch (info->domain) {
      case IntrinsicDomain::kFloat:
        if (!is_float(operand)) return fail(e, "requires float operands");
        break;
      case IntrinsicDomain::kInteger:
        if (!is_integer(operand)) return fail(e, "requires integer operands");
        break;
      case IntrinsicDomain::kBits:
        if (is_float(operand)) return fail(e, "requires integer operands");
        break;
      case IntrinsicDomain::kNumber:
        if (operand == DType::kBool) return fail(e, "requires number operands");
        break;
      case IntrinsicDomain::kWord:
        if (operand != DType::kI32) return fail(e, "requires i32 operands");
        break;
      case IntrinsicDomain::kAny:
        break;
    }
    for (size_t i = 1; i < e->operands.size(); ++i) same_operands(e, i - 1);
    result(e, info->result == IntrinsicResult::kBool ? DType::kBool : operand);
  }

  void one(const PrimExpr& e) {
    switch (e.kind()) {
      case ExprKind::kInt:
        if (!fits(e->int_value, e.dtype())) fail(e, "is out of the range of its dtype");
        break;
      case ExprKind::kFloat:
        if (!is_float(e.dtype())) fail(e, "is a float constant of another dtype");
        break;
      case ExprKind::kVar:
      case ExprKind::kCast:
        break;
      case ExprKind::kAdd:
      case ExprKind::kSub:
      case ExprKind::kMul:
      case ExprKind::kMin:
      case ExprKind::kMax:
        same_operands(e, 0);
        result(e, e.operand(0).dtype());
        break;
      case ExprKind::kDiv:
        same_operands(e, 0);
        result(e, e.operand(0).dtype());
        if (!is_float(e.dtype())) fail(e, "is a float division of integers; // rounds down");
        break;
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
        same_operands(e, 0);
        result(e, e.operand(0).dtype());
        if (!is_integer(e.dtype())) fail(e, "requires integer operands");
        break;
      case ExprKind::kEq:
      case ExprKind::kNe:
      case ExprKind::kLt:
      case ExprKind::kLe:
        same_operands(e, 0);
        result(e, DType::kBool);
        break;
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kNot:
        for (const PrimExpr& operand : e->operands) {
          if (operand.dtype() != DType::kBool) return fail(e, "requires bool operands");
        }
        result(e, DType::kBool);
        break;
      case ExprKind::kSelect:
        if (e.operand(0).dtype() != DType::kBool) fail(e, "requires a bool condition");
        same_operands(e, 1);
        result(e, e.operand(1).dtype());
        break;
      case ExprKind::kCall:
        call(e);
        break;
      case ExprKind::kLoad:
        load(e);
        break;
      case ExprKind::kLet:
        if (!e.operand(0).is_var()) return fail(e, "binds something that is not a variable");
        if (e.operand(0).dtype() != e.operand(1).dtype()) {
          fail(e, "binds a value of another dtype than its variable");
        }
        result(e, e.operand(2).dtype());
        break;
    }
  }

  void load(const PrimExpr& e) {
    const auto* buffer = static_cast<const tir::BufferNode*>(e->object.get());
    if (!buffer) return report_.add("T9", "a load has no buffer");
    result(e, buffer->dtype);
    if (e->operands.size() != buffer->shape.size()) {
      report_.add("T2", text::print(e) + " has " + std::to_string(e->operands.size()) +
                            " indices for " + std::to_string(buffer->shape.size()) + " dimensions");
    }
    for (const PrimExpr& index : e->operands) {
      if (!is_integer(index.dtype())) {
        report_.add("T2", text::print(e) + " has an index of dtype " + dtype_name(index.dtype()));
      }
    }
  }

  Report& report_;
};

}  // namespace

void verify_expr(const PrimExpr& expr, Report& report) { ExprChecker(report).check(expr); }

}  // namespace tapml::analysis
