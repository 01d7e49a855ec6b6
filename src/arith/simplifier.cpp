#include "arith/simplifier.h"

#include <algorithm>
#include <cmath>

#include "arith/evaluate.h"
#include "arith/float_fold.h"
#include "ir/queries.h"

namespace tapml::arith {

bool fits(const Polynomial& p, DType dtype) {
  if (!p.valid()) return false;
  Range range = dtype_range(dtype);
  return range.contains(p.constant()) &&
         std::all_of(p.terms().begin(), p.terms().end(),
                     [&](const Term& t) { return range.contains(t.coefficient); });
}

Polynomial Simplifier::atom(const PrimExpr& e, std::vector<Polynomial> args) {
  AtomId id = atoms_.intern(e, std::move(args));
  Range range = prover().interval(id);
  if (range.is_point()) return range.lo;
  return Polynomial::atom(id);
}

Polynomial Simplifier::atom(ExprKind kind, const Polynomial& a, const Polynomial& b, DType dtype) {
  PrimExpr e = make_binary(kind, atoms_.rebuild(a, dtype), atoms_.rebuild(b, dtype));
  return atom(e, {a, b});
}

PrimExpr Simplifier::simplify(const PrimExpr& e) {
  PrimExpr result = canonical(e);
  return same_expr(result, e) ? e : result;
}

PrimExpr Simplifier::canonical(const PrimExpr& e) {
  if (e.kind() == ExprKind::kInt || e.kind() == ExprKind::kFloat) return e;
  if (has_polynomials(e.dtype())) return atoms_.rebuild(polynomial(e), e.dtype());
  return e.dtype() == DType::kBool ? condition(e) : other(e);
}

Polynomial Simplifier::polynomial(const PrimExpr& e) { return recombine(sum(e), e.dtype()); }

Polynomial Simplifier::value_of(const PrimExpr& canonical) {
  return canonical.is_int() ? Polynomial(canonical->int_value) : atom(canonical);
}

template <class T, class F>
T Simplifier::let_value(const PrimExpr& e, F&& simplified) {
  const Var& var = e.operand(0);
  PrimExpr value = canonical(e.operand(1));
  const PrimExpr& body = e.operand(2);
  if (value.is_int() || value.is_var() || value.kind() == ExprKind::kFloat) {
    return simplified(substitute(body, {{var.get(), value}}));
  }
  auto inner = [&] { return simplified(body); };
  T result = has_polynomials(var.dtype()) ? given(eq(var, value), true, inner) : inner();
  if constexpr (std::is_same_v<T, Polynomial>) {
    PrimExpr rebuilt = atoms_.rebuild(result, e.dtype());
    if (!uses(rebuilt, var)) return result;
    return atom(make_node(ExprKind::kLet, e.dtype(), {var, value, rebuilt}));
  } else {
    if (!uses(result, var)) return result;
    return make_node(ExprKind::kLet, e.dtype(), {var, value, result});
  }
}

Polynomial Simplifier::sum(const PrimExpr& e) {
  if (e.is_int()) return e->int_value;
  if (trust_atoms_ && !e.is_var()) {
    if (auto known = atoms_.find(e)) return Polynomial::atom(*known);
  }
  if (!has_polynomials(e.dtype())) return value_of(canonical(e));
  switch (e.kind()) {
    case ExprKind::kVar:
      return atom(e);
    case ExprKind::kSelect:
      return select_value(e);
    case ExprKind::kCast:
      return cast_value(e);
    case ExprKind::kLet:
      return let_value<Polynomial>(e, [&](const PrimExpr& body) { return polynomial(body); });
    default:
      return is_binary(e.kind()) ? binary(e) : value_of(other(e));
  }
}

Polynomial Simplifier::binary(const PrimExpr& e) {
  DType dtype = e.dtype();
  bool linear =
      e.kind() == ExprKind::kAdd || e.kind() == ExprKind::kSub || e.kind() == ExprKind::kMul;
  Polynomial a = linear ? sum(e.operand(0)) : polynomial(e.operand(0));
  Polynomial b = linear ? sum(e.operand(1)) : polynomial(e.operand(1));
  Polynomial result;
  switch (e.kind()) {
    case ExprKind::kAdd:
      result = a + b;
      break;
    case ExprKind::kSub:
      result = a - b;
      break;
    case ExprKind::kMul:
      result = a * b;
      break;
    case ExprKind::kFloorDiv:
      result = floordiv(a, b, dtype);
      break;
    case ExprKind::kFloorMod:
      result = floormod(a, b, dtype);
      break;
    default:
      result = extremum(e.kind(), a, b, dtype);
  }
  // Repeatedly distributing a large operand over a sum would grow without bound.
  constexpr int64_t kMaxGrown = 512;
  auto grown = [&] {
    int64_t nodes = atoms_.nodes(result);
    return nodes > kMaxGrown && nodes > 2 + atoms_.nodes(a) + atoms_.nodes(b);
  };
  if (fits(result, dtype) && !grown()) return result;
  // Arithmetic that does not fit keeps its form, with canonical operands.
  a = recombine(a, dtype);
  b = recombine(b, dtype);
  return atom(make_binary(e.kind(), atoms_.rebuild(a, dtype), atoms_.rebuild(b, dtype)));
}

// If the atom is a cast of some x of type `dtype` that preserves all values: that x.
std::optional<Polynomial> Simplifier::uncast(AtomId id, DType dtype) const {
  const Atom& atom = atoms_[id];
  bool found = atom.kind() == ExprKind::kCast && atom.args.size() == 1 &&
               atom.expr.operand(0).dtype() == dtype;
  if (!found) return std::nullopt;
  Range value = prover().interval(atom.args[0]);
  if (value != intersect(value, dtype_range(atom.expr.dtype()))) return std::nullopt;
  return atom.args[0];
}

// Converts i32 to i64, value by value: each i64 atom is the cast of an i32 atom.
Polynomial Simplifier::widen(const Polynomial& p) {
  Polynomial result = p.constant();
  for (const Term& t : p.terms()) {
    Polynomial product = t.coefficient;
    for (AtomId id : t.monomial) {
      const Atom from = atoms_[id];
      Range i32 = dtype_range(DType::kI32);
      auto exact = [&](const Polynomial& arg) {
        return intersect(prover().interval(arg), i32) == prover().interval(arg);
      };
      Polynomial wide;
      bool descend = from.args.size() == 2 && exact(from.args[0]) && exact(from.args[1]);
      if (descend && from.kind() == ExprKind::kFloorDiv) {
        wide = floordiv(widen(from.args[0]), widen(from.args[1]), DType::kI64);
      } else if (descend && from.kind() == ExprKind::kFloorMod) {
        wide = floormod(widen(from.args[0]), widen(from.args[1]), DType::kI64);
      } else if (descend && (from.kind() == ExprKind::kMin || from.kind() == ExprKind::kMax)) {
        wide = extremum(from.kind(), widen(from.args[0]), widen(from.args[1]), DType::kI64);
      } else if (auto origin = uncast(id, DType::kI64)) {
        wide = *origin;
      } else {
        wide = atom(cast(DType::kI64, from.expr), {Polynomial::atom(id)});
      }
      product = product * wide;
    }
    result = result + product;
  }
  return result;
}

Polynomial Simplifier::cast_value(const PrimExpr& e) {
  const PrimExpr& operand = e.operand(0);
  DType to = e.dtype();
  DType from = operand.dtype();
  if (from == to) return sum(operand);
  Range range = dtype_range(to);
  if (has_polynomials(from)) {
    Polynomial p = polynomial(operand);
    if (p.is_constant() && range.contains(p.constant())) return p;
    if (auto single = p.single_atom(); single && p.constant() == 0) {
      if (auto origin = uncast(*single, to)) return *origin;
    }
    if (from == DType::kI32) {
      Range value = prover().interval(p);
      if (value == intersect(value, dtype_range(from))) {
        Polynomial wide = widen(p);
        if (wide.valid()) return wide;
      }
    }
    return atom(cast(to, atoms_.rebuild(p, from)), {p});
  }
  PrimExpr simple = simplify(operand);
  if (simple.is_int() && range.contains(simple->int_value) && from != DType::kU64) {
    return simple->int_value;
  }
  if (simple.kind() == ExprKind::kFloat) {
    double value = simple->float_value;
    if (std::trunc(value) == value && std::fabs(value) <= 1 << 30) {
      return static_cast<int64_t>(value);
    }
  }
  return atom(cast(to, simple));
}

Polynomial Simplifier::select_value(const PrimExpr& e) {
  PrimExpr chosen = canonical(e.operand(0));
  if (chosen.is_int()) return sum(e.operand(chosen->int_value != 0 ? 1 : 2));
  Polynomial a = given(chosen, true, [&] { return polynomial(e.operand(1)); });
  Polynomial b = given(chosen, false, [&] { return polynomial(e.operand(2)); });
  if (a == b) return a;
  DType dtype = e.dtype();
  PrimExpr value = make_node(ExprKind::kSelect, dtype,
                             {chosen, atoms_.rebuild(a, dtype), atoms_.rebuild(b, dtype)});
  return atom(value, {a, b});
}

PrimExpr Simplifier::operands_simplified(const PrimExpr& e) {
  std::vector<PrimExpr> operands;
  operands.reserve(e->operands.size());
  bool changed = false;
  for (const PrimExpr& operand : e->operands) {
    operands.push_back(simplify(operand));
    changed |= !operands.back().same_as(operand);
  }
  if (!changed) return e;
  return make_node(e.kind(), e.dtype(), std::move(operands), e->name, e->object);
}

// Expressions that are neither polynomials nor conditions: floats, wrapping integers, loads, calls.
PrimExpr Simplifier::other(const PrimExpr& e) {
  switch (e.kind()) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
      return e;
    case ExprKind::kLet:
      return let_value<PrimExpr>(e, [&](const PrimExpr& body) { return simplify(body); });
    case ExprKind::kSelect: {
      PrimExpr chosen = canonical(e.operand(0));
      if (chosen.is_int()) return simplify(e.operand(chosen->int_value != 0 ? 1 : 2));
      PrimExpr a = given(chosen, true, [&] { return simplify(e.operand(1)); });
      PrimExpr b = given(chosen, false, [&] { return simplify(e.operand(2)); });
      if (same_expr(a, b)) return a;
      return make_node(ExprKind::kSelect, e.dtype(), {chosen, a, b});
    }
    case ExprKind::kCast: {
      PrimExpr simple = operands_simplified(e);
      const PrimExpr& operand = simple.operand(0);
      if (operand.dtype() == e.dtype()) return operand;
      if (operand.is_int() && is_integer(e.dtype()) && operand.dtype() != DType::kU64 &&
          dtype_range(e.dtype()).contains(operand->int_value)) {
        return make_int(operand->int_value, e.dtype());
      }
      if (is_float(e.dtype())) return fold_float(simple);
      return simple;
    }
    default:
      break;
  }
  PrimExpr simple = operands_simplified(e);
  if (is_float(e.dtype())) return fold_float(simple);
  bool constant = !simple->operands.empty() &&
                  std::all_of(simple->operands.begin(), simple->operands.end(),
                              [](const PrimExpr& operand) { return operand.is_int(); });
  if (constant && simple.kind() != ExprKind::kLoad) {
    if (auto value = evaluate(simple, {})) return make_int(*value, e.dtype());
  }
  if (is_integer(e.dtype()) && simple->operands.size() == 2) {
    // x+0, x*1 and the like hold for wrapping integers too.
    const PrimExpr& a = simple.operand(0);
    const PrimExpr& b = simple.operand(1);
    if (simple.kind() == ExprKind::kAdd) return a + b;
    if (simple.kind() == ExprKind::kSub) return a - b;
    if (simple.kind() == ExprKind::kMul) return a * b;
  }
  return simple;
}

}  // namespace tapml::arith
