#include "schedule/primitives/digits.h"

#include <map>

#include "ir/queries.h"

namespace tapml::schedule {

using arith::Analyzer;

Extents extents_of(const std::vector<tir::Stmt>& loops) {
  Extents extents;
  for (const tir::Stmt& stmt : loops) {
    const auto& loop = tir::as<tir::ForNode>(stmt);
    extents[loop.var.get()] = loop.extent;
  }
  return extents;
}

namespace {

// A sum of several variables used in div and mod as one: (i*5 + j)//12 and (i*5 + j)%12.
struct Joint {
  Var var;  // represents the sum
  PrimExpr sum;
  Number number;
  PrimExpr extent;
};

std::optional<Number> number_of(const PrimExpr& expr, const Extents& extents, Analyzer& analyzer,
                                std::vector<Joint>* joints);

std::optional<Digit> joint_digit(const PrimExpr& e, const Extents& extents, Analyzer& analyzer,
                                 std::vector<Joint>* joints) {
  if (!joints || e.kind() != ExprKind::kAdd) return std::nullopt;
  for (const Joint& joint : *joints) {
    if (same_expr(joint.sum, e)) return Digit{joint.var, 1, PrimExpr(), joint.extent, 1};
  }
  auto number = number_of(e, extents, analyzer, nullptr);
  if (!number || !number->exact) return std::nullopt;
  // With an unknown base, the ranges of remainders are unknown.
  bool from_zero = number->base.is_int(0);
  PrimExpr extent = from_zero ? span(*number, analyzer) : make_var("unbounded");
  joints->push_back({make_var("joint"), e, std::move(*number), extent});
  return Digit{joints->back().var, 1, PrimExpr(), extent, 1};
}

// A digit of scale 1: the variable under any number of divisions and remainders.
std::optional<Digit> as_digit(const PrimExpr& e, const Extents& extents, Analyzer& analyzer,
                              std::vector<Joint>* joints) {
  if (e.is_var()) {
    auto it = extents.find(e.get());
    if (it == extents.end()) return std::nullopt;
    return Digit{e, 1, PrimExpr(), it->second, 1};
  }
  if (e.kind() == ExprKind::kAdd) return joint_digit(e, extents, analyzer, joints);
  bool quotient = e.kind() == ExprKind::kFloorDiv;
  if (!quotient && e.kind() != ExprKind::kFloorMod) return std::nullopt;
  const PrimExpr& divisor = e.operand(1);
  if (uses_any(divisor, extents) || !analyzer.prove_less(0, divisor)) return std::nullopt;
  auto digit = as_digit(e.operand(0), extents, analyzer, joints);
  if (!digit) return std::nullopt;
  if (quotient) {
    digit->low = analyzer.simplify(digit->low * divisor);
    digit->extent = analyzer.simplify(floordiv(digit->extent + divisor - 1, divisor));
  } else if (!analyzer.prove_less_equal(digit->extent, divisor)) {
    digit->high = analyzer.simplify(digit->low * divisor);
    digit->extent = divisor;
  }
  return digit;
}

bool collect(const PrimExpr& e, const PrimExpr& scale, const Extents& extents, Analyzer& analyzer,
             std::vector<Joint>* joints, Number& into) {
  if (!uses_any(e, extents)) {
    into.base = into.base + e * scale;
    return !has_load(e);
  }
  switch (e.kind()) {
    case ExprKind::kAdd:
      return collect(e.operand(0), scale, extents, analyzer, joints, into) &&
             collect(e.operand(1), scale, extents, analyzer, joints, into);
    case ExprKind::kSub:
      if (uses_any(e.operand(1), extents) || has_load(e.operand(1))) return false;
      into.base = into.base - e.operand(1) * scale;
      return collect(e.operand(0), scale, extents, analyzer, joints, into);
    case ExprKind::kMul:
      for (int side : {0, 1}) {
        const PrimExpr &factor = e.operand(side), &rest = e.operand(1 - side);
        if (uses_any(factor, extents) || has_load(factor)) continue;
        return collect(rest, scale * factor, extents, analyzer, joints, into);
      }
      return false;
    default: {
      auto digit = as_digit(e, extents, analyzer, joints);
      if (!digit) return false;
      digit->scale = scale;
      into.digits.push_back(*digit);
      return true;
    }
  }
}

std::optional<Number> number_of(const PrimExpr& expr, const Extents& extents, Analyzer& analyzer,
                                std::vector<Joint>* joints) {
  Number number;
  number.base = 0;
  if (!collect(analyzer.simplify(expr), 1, extents, analyzer, joints, number)) return std::nullopt;
  std::vector<Digit> rest;
  for (Digit& digit : number.digits) {
    digit.scale = analyzer.simplify(digit.scale);
    // A digit with a single value contributes nothing.
    if (!analyzer.prove_less_equal(digit.extent, 1)) rest.push_back(digit);
  }
  number.digits.clear();
  number.exact = true;
  PrimExpr next = 1;  // the smallest scale of the next digit
  while (!rest.empty()) {
    // Find the lowest remaining digit.
    size_t lowest = rest.size();
    for (size_t i = 0; i < rest.size() && lowest == rest.size(); ++i) {
      PrimExpr top = rest[i].scale * rest[i].extent;
      bool fits = analyzer.prove_less_equal(next, rest[i].scale);
      for (size_t j = 0; fits && j < rest.size(); ++j) {
        fits = i == j || analyzer.prove_less_equal(top, rest[j].scale);
      }
      if (fits) lowest = i;
    }
    if (lowest == rest.size()) return std::nullopt;
    Digit digit = rest[lowest];
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(lowest));
    number.exact = number.exact && analyzer.prove_equal(digit.scale, next);
    next = analyzer.simplify(digit.scale * digit.extent);
    number.digits.push_back(std::move(digit));
  }
  number.base = analyzer.simplify(number.base);
  return number;
}

}  // namespace

std::optional<Number> as_number(const PrimExpr& expr, const Extents& extents, Analyzer& analyzer) {
  return number_of(expr, extents, analyzer, nullptr);
}

PrimExpr span(const Number& number, Analyzer& analyzer) {
  PrimExpr highest = 0;
  for (const Digit& digit : number.digits) highest = highest + digit.scale * (digit.extent - 1);
  return analyzer.simplify(highest + 1);
}

namespace {

// Whether the parts together make up their whole variable, from the units to the top.
bool join_digits(std::vector<Digit> parts, const PrimExpr& extent, bool exactly,
                 Analyzer& analyzer) {
  PrimExpr reached = 1, values = 1;
  while (true) {
    auto next = parts.begin();
    while (next != parts.end() && !analyzer.prove_equal(next->low, reached)) ++next;
    if (next == parts.end()) break;
    Digit digit = *next;
    parts.erase(next);
    values = values * digit.extent;
    if (!digit.high) {
      if (!exactly) return true;
      return parts.empty() && analyzer.prove_equal(values, extent);
    }
    reached = digit.high;
    if (!exactly && analyzer.prove_less_equal(extent, reached)) return true;
  }
  return exactly && parts.empty() && analyzer.prove_equal(values, extent);
}

std::map<const ExprNode*, std::vector<Digit>> by_variable(const std::vector<Number>& numbers) {
  std::map<const ExprNode*, std::vector<Digit>> result;
  for (const Number& number : numbers) {
    for (const Digit& digit : number.digits) result[digit.var.get()].push_back(digit);
  }
  return result;
}

}  // namespace

std::set<const ExprNode*> determined(const std::vector<PrimExpr>& exprs, const Extents& extents,
                                     Analyzer& analyzer) {
  std::vector<Number> numbers;
  std::vector<Joint> joints;
  for (const PrimExpr& expr : exprs) {
    if (auto number = number_of(expr, extents, analyzer, &joints)) {
      numbers.push_back(std::move(*number));
    }
  }
  auto parts = by_variable(numbers);
  for (const Joint& joint : joints) {
    auto it = parts.find(joint.var.get());
    if (it == parts.end() || !join_digits(it->second, joint.extent, false, analyzer)) continue;
    for (const Digit& digit : joint.number.digits) parts[digit.var.get()].push_back(digit);
  }
  std::set<const ExprNode*> result;
  for (const auto& [var, extent] : extents) {
    auto it = parts.find(var);
    if (analyzer.prove_less_equal(extent, 1) ||
        (it != parts.end() && join_digits(it->second, extent, false, analyzer))) {
      result.insert(var);
    }
  }
  return result;
}

bool fill_box(const std::vector<PrimExpr>& exprs, const Extents& extents, Analyzer& analyzer) {
  std::vector<Number> numbers;
  std::vector<Joint> joints;
  for (const PrimExpr& expr : exprs) {
    auto number = number_of(expr, extents, analyzer, &joints);
    if (!number || !number->exact) return false;
    numbers.push_back(std::move(*number));
  }
  Extents known = extents;
  for (const Joint& joint : joints) {
    known[joint.var.get()] = joint.extent;
    numbers.push_back(joint.number);
  }
  for (const auto& [var, parts] : by_variable(numbers)) {
    if (!join_digits(parts, known.at(var), true, analyzer)) return false;
  }
  return true;
}

std::string why_not_bijective(const tir::PrimFunc& func, const Site& site) {
  const tir::BlockNode& block = site.block();
  for (const tir::Stmt& stmt : site.path) {
    if (stmt->kind == tir::StmtKind::kIf) return "there is a condition around it";
  }
  Analyzer analyzer = context(func, site);
  Extents extents = extents_of(site.loops());
  std::vector<PrimExpr> bindings;
  for (const tir::BlockIter& iter : block.iters) bindings.push_back(iter.binding);
  std::set<const ExprNode*> known = determined(bindings, extents, analyzer);
  for (const tir::Stmt& stmt : site.loops()) {
    const Var& var = tir::as<tir::ForNode>(stmt).var;
    if (!known.contains(var.get())) {
      return "iterations of loop " + var->name + " are not distinguished by the block's iterators";
    }
  }
  if (!fill_box(bindings, extents, analyzer)) {
    return "its iterators do not take all combinations of their values";
  }
  for (const tir::BlockIter& iter : block.iters) {
    auto number = as_number(iter.binding, extents, analyzer);
    PrimExpr reached = number ? span(*number, analyzer) : PrimExpr(0);
    bool whole = number && analyzer.prove_equal(number->base, 0) &&
                 analyzer.prove_less_equal(iter.extent, reached);
    if (whole && !analyzer.prove_equal(iter.extent, reached)) {
      Analyzer guarded = analyzer;
      if (block.predicate) guarded.assume(block.predicate);
      whole = guarded.prove_less(iter.binding, iter.extent);
    }
    if (!whole) {
      return "iterator " + iter.var->name + " does not provably take each value below " +
             to_string(iter.extent) + " once";
    }
  }
  // A predicate may exclude only points outside the iterators' extents.
  if (block.predicate) {
    Analyzer inside = analyzer;
    for (const tir::BlockIter& iter : block.iters) inside.assume(lt(iter.binding, iter.extent));
    if (!inside.prove(block.predicate)) return "its predicate excludes more than a tail";
  }
  return "";
}

}  // namespace tapml::schedule
