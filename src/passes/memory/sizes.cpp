#include "passes/memory/sizes.h"

#include <algorithm>

#include "abi/alignment.h"
#include "arith/evaluate.h"
#include "arith/symbols.h"
#include "ir/expr_hash.h"
#include "ir/symbol.h"

namespace tapml::passes {

namespace {

// Assumed where nothing is known of a dimension; only chooses between two correct plans.
constexpr int64_t kTypicalDimension = 512;
constexpr size_t kManySymbols = 16;
// The cost of simplifying a size grows faster than the number of its variables, so derived sizes
// are limited to kManySymbols of them, with so many occurrences.
constexpr size_t kMostOccurrences = 32;

std::optional<int64_t> padded_constant(int64_t bytes, int64_t to) {
  if (bytes > INT64_MAX - (to - 1)) return std::nullopt;
  return (bytes + (to - 1)) / to * to;
}

// Operands of the maximum that `expr` is: monotonic operations move into the operands of a maximum.
std::vector<PrimExpr> terms_of(const PrimExpr& expr) {
  if (expr.kind() == ExprKind::kMax) {
    std::vector<PrimExpr> terms = terms_of(expr.operand(0));
    for (PrimExpr& term : terms_of(expr.operand(1))) terms.push_back(std::move(term));
    return terms;
  }
  const bool adds = expr.kind() == ExprKind::kAdd;
  const bool scales = expr.kind() == ExprKind::kMul || expr.kind() == ExprKind::kFloorDiv;
  if (!adds && !scales) return {expr};
  const PrimExpr& constant = expr.operand(1);
  if (!constant.is_int() || (scales && constant->int_value <= 0)) return {expr};
  std::vector<PrimExpr> terms = terms_of(expr.operand(0));
  if (terms.size() == 1) return {expr};
  for (PrimExpr& term : terms) {
    term = adds                            ? term + constant
           : expr.kind() == ExprKind::kMul ? term * constant
                                           : floordiv(term, constant);
  }
  return terms;
}

}  // namespace

PrimExpr storage_bytes(const Dims& shape, DType dtype) {
  PrimExpr bytes = static_cast<int64_t>(dtype_bytes(dtype));
  arith::Analyzer analyzer;
  for (const PrimExpr& dim : shape) arith::bind_symbols(dim, analyzer);
  for (const PrimExpr& dim : shape) {
    // No plan depends on a negative dimension, which is rejected when the tensor is made.
    const bool is_size = dim.is_var() && least_value(dim).value_or(-1) >= 0;
    const bool is_counted = is_size || dim.is_int() || analyzer.prove_less_equal(0, dim);
    bytes = bytes * (is_counted ? dim : max(dim, 0));
  }
  bytes = analyzer.simplify(bytes);
  if (analyzer.prove_divisible(bytes, 16)) return bytes;
  return analyzer.simplify(round_up(bytes, 16));
}

void Sizes::learn(const PrimExpr& expr, arith::Analyzer& analyzer) const {
  for (const Var& var : free_vars(expr)) {
    auto bound = bounds_.find(var.get());
    arith::bind_symbol(
        var, bound == bounds_.end() ? std::nullopt : std::optional<int64_t>(bound->second),
        analyzer);
  }
}

arith::Analyzer& Sizes::analyzer(const PrimExpr& a, const PrimExpr& b) {
  for (const PrimExpr& one : {a, b}) {
    if (!one || known_.size() > kManySymbols) continue;
    bool fresh = false;
    for (const Var& var : free_vars(one)) fresh |= known_.insert(var.get()).second;
    if (fresh) learn(one, shared_);
  }
  if (known_.size() <= kManySymbols) return shared_;
  own_ = arith::Analyzer();
  learn(a, own_);
  if (b) learn(b, own_);
  return own_;
}

// Sums, products and maxima of nonnegative values grow with every operand. An entry too many is
// harmless: the comparison is then proved by other means.
void Sizes::add_unlimited(const PrimExpr& expr, Symbols& into) const {
  if (expr.is_var()) {
    if (!bounds_.contains(expr.get())) into.push_back(expr.get());
    return;
  }
  switch (expr.kind()) {
    case ExprKind::kMul:
      if (expr.operand(0).is_int() && expr.operand(0)->int_value <= 0) return;
      if (expr.operand(1).is_int() && expr.operand(1)->int_value <= 0) return;
      [[fallthrough]];
    case ExprKind::kAdd:
    case ExprKind::kMax:
      for (const PrimExpr& operand : expr->operands) add_unlimited(operand, into);
      return;
    case ExprKind::kFloorDiv:
      if (expr.operand(1).is_int() && expr.operand(1)->int_value > 0) {
        add_unlimited(expr.operand(0), into);
      }
      return;
    default:
      return;
  }
}

int32_t Sizes::add_constant(int64_t bytes) {
  auto [known, fresh] = constants_.emplace(bytes, static_cast<int32_t>(entries_.size()));
  if (!fresh) return known->second;
  Entry entry;
  entry.bytes = bytes;
  entry.most = padded_constant(bytes, 16);
  entry.least = bytes;
  entry.typical = static_cast<double>(bytes);
  alike_[{entry.typical, {}}].push_back(known->second);
  entries_.push_back(std::move(entry));
  return known->second;
}

int32_t Sizes::add(const PrimExpr& bytes) {
  if (bytes.is_int()) return add_constant(bytes->int_value);
  const size_t hash = hash_expr(bytes);
  auto [first, last] = known_sizes_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (same_expr(it->second.first, bytes)) return it->second.second;
  }
  const int32_t size = add_symbolic(bytes);
  known_sizes_.emplace(hash, std::pair(bytes, size));
  return size;
}

int32_t Sizes::add_symbolic(const PrimExpr& bytes) {
  Entry entry;
  arith::Analyzer& analyzer = this->analyzer(bytes);
  entry.bytes = analyzer.simplify(bytes);
  if (entry.bytes.is_int()) return add_constant(entry.bytes->int_value);
  if (const std::vector<PrimExpr> terms = terms_of(entry.bytes); terms.size() > 1) {
    std::vector<int32_t> sizes;
    for (const PrimExpr& term : terms) sizes.push_back(add(term));
    return add_greatest(sizes);
  }
  add_unlimited(entry.bytes, entry.unlimited);
  if (entry.unlimited.empty()) {
    if (auto most = analyzer.upper_bound(entry.bytes)) entry.most = padded_constant(*most, 16);
  }
  arith::Values typical, least;
  for (const Var& var : free_vars(entry.bytes)) {
    auto bound = bounds_.find(var.get());
    typical[var.get()] = bound == bounds_.end() ? kTypicalDimension : bound->second;
    least[var.get()] = 0;
    entry.symbols.push_back(var.get());
  }
  std::sort(entry.symbols.begin(), entry.symbols.end());
  visit_expr(entry.bytes, [&](const PrimExpr& e) { entry.occurrences += e.is_var() ? 1 : 0; });
  entry.typical = static_cast<double>(arith::evaluate(entry.bytes, typical).value_or(0));
  entry.least = arith::evaluate(entry.bytes, least);
  std::vector<int32_t>& same = alike_[{entry.typical, entry.symbols}];
  for (int32_t one : same) {
    if (analyzer.prove_equal(this->bytes(one), entry.bytes)) return one;
  }
  entries_.push_back(std::move(entry));
  same.push_back(static_cast<int32_t>(entries_.size() - 1));
  return same.back();
}

std::vector<int32_t> Sizes::terms(int32_t size) const {
  return has_terms(size) ? entry(size).terms : std::vector{size};
}

int32_t Sizes::add_greatest(const std::vector<int32_t>& sizes) {
  std::set<int32_t> all, greatest;
  for (int32_t size : sizes) {
    const std::vector<int32_t> these = terms(size);
    all.insert(these.begin(), these.end());
  }
  for (int32_t term : all) {
    const bool idle = std::any_of(greatest.begin(), greatest.end(),
                                  [&](int32_t other) { return at_most(term, other); });
    if (idle) continue;
    std::erase_if(greatest, [&](int32_t other) { return at_most(other, term); });
    greatest.insert(term);
  }
  if (greatest.size() == 1) return *greatest.begin();
  Entry made;
  made.terms.assign(greatest.begin(), greatest.end());
  auto [known, fresh] = greatest_.emplace(made.terms, static_cast<int32_t>(entries_.size()));
  if (!fresh) return known->second;
  made = Entry(entry(made.terms[0]));
  made.terms.assign(greatest.begin(), greatest.end());
  made.aligned = -1;
  for (size_t i = 1; i < made.terms.size(); ++i) {
    const Entry& term = entry(made.terms[i]);
    made.bytes = max(made.bytes, term.bytes);
    made.symbols.insert(made.symbols.end(), term.symbols.begin(), term.symbols.end());
    made.unlimited.insert(made.unlimited.end(), term.unlimited.begin(), term.unlimited.end());
    made.most = made.most && term.most ? std::max(made.most, term.most) : std::nullopt;
    made.least = made.least && term.least ? std::max(made.least, term.least) : std::nullopt;
    made.typical = std::max(made.typical, term.typical);
    made.occurrences += term.occurrences;
  }
  std::sort(made.symbols.begin(), made.symbols.end());
  made.symbols.erase(std::unique(made.symbols.begin(), made.symbols.end()), made.symbols.end());
  entries_.push_back(std::move(made));
  return known->second;
}

bool Sizes::may_be_at_most(int32_t a, int32_t b) const {
  if (a == b) return true;
  const Entry &less = entry(a), &more = entry(b);
  // A size that is larger in one case is not proved smaller.
  if (less.typical > more.typical) return false;
  if (less.least && more.least && *less.least > *more.least) return false;
  // Nor is one that grows with a symbol that the other does not have.
  return std::all_of(less.unlimited.begin(), less.unlimited.end(), [&](const auto* symbol) {
    return std::binary_search(more.symbols.begin(), more.symbols.end(), symbol);
  });
}

bool Sizes::at_most(int32_t a, int32_t b) {
  if (a == b) return true;
  if (bytes(a).is_int() && bytes(b).is_int()) return bytes(a)->int_value <= bytes(b)->int_value;
  if (!may_be_at_most(a, b)) return false;
  if (auto known = at_most_.find(key(a, b)); known != at_most_.end()) return known->second;
  bool proved = false;
  if (has_terms(a) || has_terms(b)) {
    const std::vector<int32_t> less = terms(a), more = terms(b);
    proved = std::all_of(less.begin(), less.end(), [&](int32_t one) {
      return std::any_of(more.begin(), more.end(),
                         [&](int32_t other) { return at_most(one, other); });
    });
  } else {
    proved = analyzer(bytes(a), bytes(b)).prove_less_equal(bytes(a), bytes(b));
  }
  return at_most_[key(a, b)] = proved;
}

bool Sizes::may_combine(int32_t a, int32_t b, size_t occurrences) const {
  if (occurrences > kMostOccurrences) return false;
  const Entry &one = entry(a), &other = entry(b);
  size_t symbols = one.symbols.size();
  for (const tapml::ExprNode* symbol : other.symbols) {
    symbols += std::binary_search(one.symbols.begin(), one.symbols.end(), symbol) ? 0 : 1;
  }
  return symbols <= kManySymbols;
}

bool Sizes::may_join(int32_t a, int32_t b) const {
  return may_combine(a, b, entry(a).occurrences + entry(b).occurrences);
}

int32_t Sizes::join(int32_t a, int32_t b) {
  if (at_most(a, b)) return b;
  if (at_most(b, a)) return a;
  auto [low, high] = std::minmax(a, b);
  auto [known, fresh] = joins_.emplace(key(low, high), -1);
  if (fresh) known->second = add_greatest({low, high});
  return known->second;
}

int32_t Sizes::sum(int32_t a, int32_t b) {
  if (bytes(a).is_int(0)) return b;
  if (bytes(b).is_int(0)) return a;
  auto [low, high] = std::minmax(a, b);
  if (auto known = sums_.find(key(low, high)); known != sums_.end()) return known->second;
  int32_t result = -1;
  if (has_terms(a) || has_terms(b)) {
    result = sum_of_terms(terms(low), terms(high));
  } else if (bytes(a).is_int() && bytes(b).is_int()) {
    int64_t total = 0;
    if (!__builtin_add_overflow(bytes(a)->int_value, bytes(b)->int_value, &total)) {
      result = add_constant(total);
    }
  } else if (may_join(a, b)) {
    result = add(bytes(low) + bytes(high));
  }
  sums_[key(low, high)] = result;
  return result;
}

// Sum of two maxima: the maximum of the sums of their terms.
int32_t Sizes::sum_of_terms(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  size_t occurrences = 0;
  for (int32_t one : a) occurrences += b.size() * std::max<size_t>(entry(one).occurrences, 1);
  for (int32_t one : b) occurrences += a.size() * std::max<size_t>(entry(one).occurrences, 1);
  if (occurrences > kMostOccurrences) return -1;
  std::vector<int32_t> sums;
  for (int32_t one : a) {
    for (int32_t other : b) {
      sums.push_back(sum(one, other));
      if (sums.back() < 0) return -1;
    }
  }
  return add_greatest(sums);
}

int32_t Sizes::aligned(int32_t a) {
  if (entry(a).aligned >= 0) return entry(a).aligned;
  int32_t result = a;
  const PrimExpr bytes = entry(a).bytes;
  if (has_terms(a)) {
    std::vector<int32_t> places;
    for (int32_t term : terms(a)) {
      places.push_back(aligned(term));
      if (places.back() < 0) return -1;
    }
    result = add_greatest(places);
  } else if (bytes.is_int()) {
    auto place = padded_constant(bytes->int_value, kTensorAlignment);
    if (!place) return -1;
    result = add_constant(*place);
  } else if (!analyzer(bytes).prove_divisible(bytes, kTensorAlignment)) {
    result = add(round_up(bytes, kTensorAlignment));
  }
  entries_[static_cast<size_t>(a)].aligned = result;
  return result;
}

}  // namespace tapml::passes
