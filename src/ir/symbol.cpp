#include "ir/symbol.h"

#include "ir/exceptions.h"

namespace tapml {

namespace {

// The `object` of a variable whose least value is known.
struct Least : Object {
  explicit Least(int64_t value) : value(value) {}
  int64_t value;
};

std::shared_ptr<const Object> object_of(int64_t least) {
  static const std::shared_ptr<const Object> zero = std::make_shared<Least>(0);
  return least == 0 ? zero : std::make_shared<Least>(least);
}

// factor * var + offset; `var` is null for a constant.
struct Affine {
  Var var;
  int64_t factor = 0, offset = 0;
};

std::optional<Affine> combined(const PrimExpr& e, const Affine& a, const Affine& b) {
  Affine result;
  bool fits = true;
  switch (e.kind()) {
    case ExprKind::kAdd:
      fits = !__builtin_add_overflow(a.factor, b.factor, &result.factor) &&
             !__builtin_add_overflow(a.offset, b.offset, &result.offset);
      break;
    case ExprKind::kSub:
      fits = !__builtin_sub_overflow(a.factor, b.factor, &result.factor) &&
             !__builtin_sub_overflow(a.offset, b.offset, &result.offset);
      break;
    case ExprKind::kMul: {
      if (a.var && b.var) return std::nullopt;
      const Affine &scaled = a.var ? a : b, &by = a.var ? b : a;
      fits = !__builtin_mul_overflow(scaled.factor, by.offset, &result.factor) &&
             !__builtin_mul_overflow(scaled.offset, by.offset, &result.offset);
      break;
    }
    default:
      return std::nullopt;
  }
  if (!fits || (a.var && b.var && !a.var.same_as(b.var))) return std::nullopt;
  result.var = a.var ? a.var : b.var;
  return result;
}

std::optional<Affine> affine(const PrimExpr& e) {
  if (e.dtype() != DType::kI64) return std::nullopt;
  if (e.is_int()) return Affine{{}, 0, e->int_value};
  if (e.is_var()) return Affine{e, 1, 0};
  if (!is_binary(e.kind())) return std::nullopt;
  const std::optional<Affine> a = affine(e.operand(0));
  if (!a) return std::nullopt;
  const std::optional<Affine> b = affine(e.operand(1));
  return b ? combined(e, *a, *b) : std::nullopt;
}

}  // namespace

Var make_size(std::string name, int64_t least) {
  return make_node(ExprKind::kVar, DType::kI64, {}, std::move(name), object_of(least));
}

std::optional<int64_t> least_value(const Var& var) {
  if (!var->object) return std::nullopt;
  return static_cast<const Least&>(*var->object).value;
}

void state_least_value(const Var& var, int64_t least) {
  if (!var.is_var() || var.dtype() != DType::kI64) {
    throw_internal("the least value of something that is not an i64 variable");
  }
  // Nodes are never created const, so the cast is valid.
  const_cast<ExprNode&>(*var).object = object_of(least);
}

Var fresh_symbol(const Var& var) {
  return make_node(ExprKind::kVar, var.dtype(), {}, var->name, var->object);
}

std::optional<LeastValue> least_of_dimension(const PrimExpr& dim) {
  const std::optional<Affine> form = affine(dim);
  if (!form || !form->var || form->factor <= 0 || form->offset == INT64_MIN) return std::nullopt;
  // factor * var >= -offset, rounded up.
  return LeastValue{form->var, -floor_div(form->offset, form->factor)};
}

}  // namespace tapml
