#include "ir/expr.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/exceptions.h"

namespace tapml {

PrimExpr::PrimExpr(int64_t value) : PrimExpr(make_int(value)) {}

PrimExpr make_int(int64_t value, DType dtype) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::kInt;
  node->dtype = dtype;
  node->int_value = value;
  return PrimExpr(std::move(node));
}

PrimExpr make_float(double value, DType dtype) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::kFloat;
  node->dtype = dtype;
  node->float_value = value;
  return PrimExpr(std::move(node));
}

PrimExpr make_bool(bool value) { return make_int(value ? 1 : 0, DType::kBool); }

Var make_var(std::string name, DType dtype) {
  auto node = std::make_shared<ExprNode>();
  node->kind = ExprKind::kVar;
  node->dtype = dtype;
  node->name = std::move(name);
  return PrimExpr(std::move(node));
}

PrimExpr make_node(ExprKind kind, DType dtype, std::vector<PrimExpr> operands, std::string name,
                   std::shared_ptr<const Object> object) {
  auto node = std::make_shared<ExprNode>();
  node->kind = kind;
  node->dtype = dtype;
  node->operands = std::move(operands);
  node->name = std::move(name);
  node->object = std::move(object);
  return PrimExpr(std::move(node));
}

bool is_binary(ExprKind kind) { return kind >= ExprKind::kAdd && kind <= ExprKind::kOr; }
bool is_comparison(ExprKind kind) { return kind >= ExprKind::kEq && kind <= ExprKind::kLe; }

PrimExpr make_binary(ExprKind kind, PrimExpr a, PrimExpr b) {
  if (a.dtype() != b.dtype()) {
    throw_internal("operands of different dtypes: " + std::string(dtype_name(a.dtype())) + " " +
                   to_string(a) + " and " + dtype_name(b.dtype()) + " " + to_string(b));
  }
  DType dtype = is_comparison(kind) ? DType::kBool : a.dtype();
  return make_node(kind, dtype, {std::move(a), std::move(b)});
}

PrimExpr make_call(std::string intrinsic, DType dtype, std::vector<PrimExpr> operands) {
  return make_node(ExprKind::kCall, dtype, std::move(operands), std::move(intrinsic));
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

namespace {

// An integer constant takes the dtype of the other side.
void match_dtypes(PrimExpr& a, PrimExpr& b) {
  if (a.dtype() == b.dtype()) return;
  auto convert = [](const PrimExpr& e, DType dtype) {
    return is_float(dtype) ? make_float(static_cast<double>(e->int_value), dtype)
                           : make_int(e->int_value, dtype);
  };
  if (a.is_int() && a.dtype() == DType::kI64) {
    a = convert(a, b.dtype());
  } else if (b.is_int() && b.dtype() == DType::kI64) {
    b = convert(b, a.dtype());
  }
}

bool both_int(const PrimExpr& a, const PrimExpr& b) {
  return a.is_int() && b.is_int() && a.dtype() == DType::kI64 && b.dtype() == DType::kI64;
}

bool is_zero(const PrimExpr& e) { return e.is_int(0) && is_integer(e.dtype()); }
bool is_one(const PrimExpr& e) { return e.is_int(1) && is_integer(e.dtype()); }

}  // namespace

PrimExpr operator+(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  int64_t value;
  if (both_int(a, b) && !__builtin_add_overflow(a->int_value, b->int_value, &value)) return value;
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  return make_binary(ExprKind::kAdd, std::move(a), std::move(b));
}

PrimExpr operator-(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  int64_t value;
  if (both_int(a, b) && !__builtin_sub_overflow(a->int_value, b->int_value, &value)) return value;
  if (is_zero(b)) return a;
  return make_binary(ExprKind::kSub, std::move(a), std::move(b));
}

PrimExpr operator*(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  int64_t value;
  if (both_int(a, b) && !__builtin_mul_overflow(a->int_value, b->int_value, &value)) return value;
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  if (is_zero(a)) return a;
  if (is_zero(b)) return b;
  return make_binary(ExprKind::kMul, std::move(a), std::move(b));
}

PrimExpr fdiv(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  return make_binary(ExprKind::kDiv, std::move(a), std::move(b));
}

PrimExpr floordiv(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  if (both_int(a, b) && b->int_value > 0) return floor_div(a->int_value, b->int_value);
  if (is_one(b)) return a;
  return make_binary(ExprKind::kFloorDiv, std::move(a), std::move(b));
}

PrimExpr floormod(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  if (both_int(a, b) && b->int_value > 0) return floor_mod(a->int_value, b->int_value);
  if (is_one(b)) return make_int(0, a.dtype());
  return make_binary(ExprKind::kFloorMod, std::move(a), std::move(b));
}

PrimExpr ceil_div(const PrimExpr& extent, const PrimExpr& size) {
  return floordiv(extent + (size - 1), size);
}

PrimExpr round_up(const PrimExpr& value, const PrimExpr& step) {
  return ceil_div(value, step) * step;
}

PrimExpr min(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  if (both_int(a, b)) return std::min(a->int_value, b->int_value);
  if (a.same_as(b)) return a;
  return make_binary(ExprKind::kMin, std::move(a), std::move(b));
}

PrimExpr max(PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  if (both_int(a, b)) return std::max(a->int_value, b->int_value);
  if (a.same_as(b)) return a;
  return make_binary(ExprKind::kMax, std::move(a), std::move(b));
}

namespace {
PrimExpr compare(ExprKind kind, PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  if (both_int(a, b)) {
    int64_t x = a->int_value, y = b->int_value;
    if (kind == ExprKind::kEq) return make_bool(x == y);
    if (kind == ExprKind::kNe) return make_bool(x != y);
    if (kind == ExprKind::kLt) return make_bool(x < y);
    return make_bool(x <= y);
  }
  return make_binary(kind, std::move(a), std::move(b));
}
}  // namespace

PrimExpr eq(PrimExpr a, PrimExpr b) { return compare(ExprKind::kEq, std::move(a), std::move(b)); }
PrimExpr ne(PrimExpr a, PrimExpr b) { return compare(ExprKind::kNe, std::move(a), std::move(b)); }
PrimExpr lt(PrimExpr a, PrimExpr b) { return compare(ExprKind::kLt, std::move(a), std::move(b)); }
PrimExpr le(PrimExpr a, PrimExpr b) { return compare(ExprKind::kLe, std::move(a), std::move(b)); }

PrimExpr logical_and(PrimExpr a, PrimExpr b) {
  if (a.is_int(1)) return b;
  if (b.is_int(1)) return a;
  if (a.is_int(0)) return a;
  return make_binary(ExprKind::kAnd, std::move(a), std::move(b));
}

PrimExpr logical_or(PrimExpr a, PrimExpr b) {
  if (a.is_int(0)) return b;
  if (b.is_int(0)) return a;
  if (a.is_int(1)) return a;
  return make_binary(ExprKind::kOr, std::move(a), std::move(b));
}

PrimExpr logical_not(PrimExpr a) {
  if (a.is_int()) return make_bool(a->int_value == 0);
  return make_node(ExprKind::kNot, DType::kBool, {std::move(a)});
}

PrimExpr select(PrimExpr condition, PrimExpr a, PrimExpr b) {
  match_dtypes(a, b);
  if (condition.is_int()) return condition->int_value ? a : b;
  DType dtype = a.dtype();
  return make_node(ExprKind::kSelect, dtype, {std::move(condition), std::move(a), std::move(b)});
}

PrimExpr cast(DType dtype, PrimExpr a) {
  if (a.dtype() == dtype) return a;
  return make_node(ExprKind::kCast, dtype, {std::move(a)});
}

PrimExpr let(Var var, PrimExpr value, PrimExpr body) {
  DType dtype = body.dtype();
  return make_node(ExprKind::kLet, dtype, {std::move(var), std::move(value), std::move(body)});
}

void visit_expr(const PrimExpr& expr, const std::function<void(const PrimExpr&)>& f) {
  for (const PrimExpr& operand : expr->operands) visit_expr(operand, f);
  f(expr);
}

PrimExpr rewrite_expr(const PrimExpr& expr, const std::function<PrimExpr(const PrimExpr&)>& f) {
  PrimExpr current = expr;
  bool changed = false;
  std::vector<PrimExpr> operands;
  operands.reserve(expr->operands.size());
  for (const PrimExpr& operand : expr->operands) {
    operands.push_back(rewrite_expr(operand, f));
    changed |= !operands.back().same_as(operand);
  }
  if (changed) {
    auto node = std::make_shared<ExprNode>(*expr);
    node->operands = std::move(operands);
    current = PrimExpr(std::move(node));
  }
  PrimExpr replaced = f(current);
  return replaced ? replaced : current;
}

PrimExpr substitute(const PrimExpr& expr, const VarMap& values) {
  if (values.empty()) return expr;
  return rewrite_expr(expr, [&](const PrimExpr& e) {
    if (!e.is_var()) return PrimExpr();
    auto it = values.find(e.get());
    return it == values.end() ? PrimExpr() : it->second;
  });
}

void collect_vars(const PrimExpr& expr, std::vector<Var>& into) {
  std::set<const ExprNode*> bound;
  visit_expr(expr, [&](const PrimExpr& e) {
    if (e.kind() == ExprKind::kLet) bound.insert(e.operand(0).get());
  });
  visit_expr(expr, [&](const PrimExpr& e) {
    if (!e.is_var() || bound.contains(e.get())) return;
    for (const Var& known : into) {
      if (known.same_as(e)) return;
    }
    into.push_back(e);
  });
}

std::vector<Var> free_vars(const PrimExpr& expr) {
  std::vector<Var> vars;
  collect_vars(expr, vars);
  return vars;
}

bool same_expr(const PrimExpr& a, const PrimExpr& b) {
  if (a.same_as(b)) return true;
  if (!a || !b || a.kind() != b.kind() || a.dtype() != b.dtype()) return false;
  if (a.is_var()) return false;
  if (a->int_value != b->int_value || a->name != b->name || a->object != b->object) return false;
  if (a->operands.size() != b->operands.size()) return false;
  if (a.kind() == ExprKind::kFloat &&
      !(a->float_value == b->float_value &&
        std::signbit(a->float_value) == std::signbit(b->float_value))) {
    return false;
  }
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (!same_expr(a.operand(i), b.operand(i))) return false;
  }
  return true;
}

namespace {

int precedence(ExprKind kind) {
  switch (kind) {
    case ExprKind::kOr:
      return 1;
    case ExprKind::kAnd:
      return 2;
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
      return 3;
    case ExprKind::kAdd:
    case ExprKind::kSub:
      return 4;
    case ExprKind::kMul:
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      return 5;
    default:
      return 9;
  }
}

const char* symbol(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd:
      return " + ";
    case ExprKind::kSub:
      return " - ";
    case ExprKind::kMul:
      return "*";
    case ExprKind::kDiv:
      return " / ";
    case ExprKind::kFloorDiv:
      return "//";
    case ExprKind::kFloorMod:
      return "%";
    case ExprKind::kEq:
      return " == ";
    case ExprKind::kNe:
      return " != ";
    case ExprKind::kLt:
      return " < ";
    case ExprKind::kLe:
      return " <= ";
    case ExprKind::kAnd:
      return " and ";
    case ExprKind::kOr:
      return " or ";
    default:
      return nullptr;
  }
}

std::string to_string(const PrimExpr& expr, int outer) {
  if (!expr) return "<null>";
  auto list = [&](const std::string& name) {
    std::string text = name + "(";
    for (size_t i = 0; i < expr->operands.size(); ++i) {
      text += (i ? ", " : "") + to_string(expr.operand(i), 0);
    }
    return text + ")";
  };
  switch (expr.kind()) {
    case ExprKind::kInt:
      return std::to_string(expr->int_value);
    case ExprKind::kFloat:
      return std::to_string(expr->float_value);
    case ExprKind::kVar:
      return expr->name;
    case ExprKind::kMin:
      return list("min");
    case ExprKind::kMax:
      return list("max");
    case ExprKind::kNot:
      return list("not");
    case ExprKind::kSelect:
      return list("select");
    case ExprKind::kCast:
      return list(dtype_name(expr.dtype()));
    case ExprKind::kCall:
      return list(expr->name);
    case ExprKind::kLoad:
      return list("load");
    case ExprKind::kLet:
      return list("let");
    default: {
      int own = precedence(expr.kind());
      std::string text = to_string(expr.operand(0), own) + symbol(expr.kind()) +
                         to_string(expr.operand(1), own + 1);
      return own < outer ? "(" + text + ")" : text;
    }
  }
}

}  // namespace

std::string to_string(const PrimExpr& expr) { return to_string(expr, 0); }

}  // namespace tapml
