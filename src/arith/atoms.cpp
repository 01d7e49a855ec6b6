#include "arith/atoms.h"

#include <algorithm>

#include "ir/expr_hash.h"

namespace tapml::arith {

bool has_polynomials(DType dtype) { return dtype == DType::kI64 || dtype == DType::kI32; }

namespace {

int64_t count_nodes(const PrimExpr& e) {
  int64_t nodes = 1;
  for (const PrimExpr& operand : e->operands) nodes += count_nodes(operand);
  return nodes;
}

}  // namespace

int64_t AtomTable::nodes(const Polynomial& p) const {
  int64_t total = 1;
  for (const Term& t : p.terms()) {
    total += 2;
    for (AtomId id : t.monomial) total += (*this)[id].nodes;
  }
  return total;
}

std::optional<AtomId> AtomTable::find(const PrimExpr& expr) const {
  auto known = by_node_.find(expr.get());
  if (known == by_node_.end()) return std::nullopt;
  return known->second;
}

AtomId AtomTable::intern(const PrimExpr& expr, std::vector<Polynomial> args) {
  if (auto known = find(expr)) return *known;
  size_t hash = 0;
  if (!expr.is_var()) {
    hash = hash_expr(expr);
    auto [first, last] = by_hash_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (same_expr(atoms_[static_cast<size_t>(it->second)].expr, expr)) return it->second;
    }
  }
  auto id = static_cast<AtomId>(atoms_.size());
  atoms_.push_back({expr, std::move(args), count_nodes(expr)});
  by_node_.emplace(expr.get(), id);
  if (!expr.is_var()) by_hash_.emplace(hash, id);
  return id;
}

// Compares structure and names, so that the printed order does not depend on earlier
// simplifications; only distinct variables of the same name fall back on the order of their first
// appearance.
int AtomTable::compare(const PrimExpr& a, const PrimExpr& b) {
  if (a.same_as(b)) return 0;
  auto rank = [](const PrimExpr& e) {
    return e.is_var() ? -1 : e.is_int() ? 1000 : static_cast<int>(e.kind());
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
  if (int order = a->name.compare(b->name); order != 0) return order < 0 ? -1 : 1;
  if (a.is_var()) return intern(a) < intern(b) ? -1 : 1;
  if (a->int_value != b->int_value) return a->int_value < b->int_value ? -1 : 1;
  if (a->float_value != b->float_value) return a->float_value < b->float_value ? -1 : 1;
  if (a->operands.size() != b->operands.size()) {
    return a->operands.size() < b->operands.size() ? -1 : 1;
  }
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (int order = compare(a.operand(i), b.operand(i)); order != 0) return order;
  }
  return 0;
}

std::vector<AtomId> AtomTable::display_order(const Monomial& monomial) {
  std::vector<AtomId> ids(monomial.begin(), monomial.end());
  std::sort(ids.begin(), ids.end(), [&](AtomId a, AtomId b) {
    if (a == b) return false;
    int order = compare((*this)[a].expr, (*this)[b].expr);
    return order != 0 ? order < 0 : a < b;
  });
  return ids;
}

bool AtomTable::before(const Term& a, const Term& b) {
  if (a.monomial.degree() != b.monomial.degree()) {
    return a.monomial.degree() > b.monomial.degree();
  }
  uint64_t ca = static_cast<uint64_t>(a.coefficient);
  uint64_t cb = static_cast<uint64_t>(b.coefficient);
  if (a.coefficient < 0) ca = -ca;
  if (b.coefficient < 0) cb = -cb;
  if (ca != cb) return ca > cb;
  std::vector<AtomId> x = display_order(a.monomial);
  std::vector<AtomId> y = display_order(b.monomial);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    int order = compare((*this)[x[i]].expr, (*this)[y[i]].expr);
    return order != 0 ? order < 0 : x[i] < y[i];
  }
  return false;
}

const Term& AtomTable::leading_term(const Polynomial& p) {
  return *std::min_element(p.terms().begin(), p.terms().end(),
                           [&](const Term& a, const Term& b) { return before(a, b); });
}

PrimExpr AtomTable::rebuild(const Polynomial& p, DType dtype) {
  if (p.is_constant()) return make_int(p.constant(), dtype);
  if (auto atom = p.single_atom(); atom && p.constant() == 0) return (*this)[*atom].expr;
  std::vector<Term> added, subtracted;
  for (const Term& t : p.terms()) (t.coefficient > 0 ? added : subtracted).push_back(t);
  auto order = [&](const Term& a, const Term& b) { return before(a, b); };
  if (added.size() > 1) std::sort(added.begin(), added.end(), order);
  if (subtracted.size() > 1) std::sort(subtracted.begin(), subtracted.end(), order);

  auto product = [&](const Term& t, int64_t coefficient) {
    PrimExpr result;
    for (AtomId id : display_order(t.monomial)) {
      const PrimExpr& e = (*this)[id].expr;
      result = result ? make_binary(ExprKind::kMul, result, e) : e;
    }
    if (coefficient == 1) return result;
    return make_binary(ExprKind::kMul, result, make_int(coefficient, dtype));
  };
  PrimExpr sum;
  auto add = [&](PrimExpr e) {
    sum = sum ? make_binary(ExprKind::kAdd, sum, std::move(e)) : std::move(e);
  };
  for (const Term& t : added) add(product(t, t.coefficient));
  int64_t constant = p.constant();
  if (!sum && constant > 0) {
    add(make_int(constant, dtype));
    constant = 0;
  }
  for (const Term& t : subtracted) {
    // The smallest integer has no negation, so that it stays a factor.
    if (sum && t.coefficient != INT64_MIN) {
      sum = make_binary(ExprKind::kSub, sum, product(t, -t.coefficient));
    } else {
      add(product(t, t.coefficient));
    }
  }
  if (constant > 0 || constant == INT64_MIN) add(make_int(constant, dtype));
  if (constant < 0 && constant != INT64_MIN) {
    sum = make_binary(ExprKind::kSub, sum, make_int(-constant, dtype));
  }
  return sum;
}

}  // namespace tapml::arith
