#include "passes/memory/sizes.h"

#include <algorithm>

#include "abi/alignment.h"
#include "arith/evaluate.h"
#include "ir/expr_hash.h"

namespace tapml::passes {

namespace {

// Where nothing is known of a dimension; only decides between two right plans.
constexpr int64_t kTypicalDimension = 512;
constexpr size_t kManySymbols = 16;
// What it takes to simplify a size grows faster than the variables in it: those that are made of
// others have no more than kManySymbols of them, at so many places.
constexpr size_t kMostOccurrences = 32;

PrimExpr padded(const PrimExpr& bytes, int64_t to) { return floordiv(bytes + (to - 1), to) * to; }

std::optional<int64_t> padded_constant(int64_t bytes, int64_t to) {
  if (bytes > INT64_MAX - (to - 1)) return std::nullopt;
  return (bytes + (to - 1)) / to * to;
}

}  // namespace

PrimExpr storage_bytes(const Dims& shape, DType dtype) {
  PrimExpr bytes = static_cast<int64_t>(dtype_bytes(dtype));
  for (const PrimExpr& dim : shape) bytes = bytes * dim;
  arith::Analyzer analyzer;
  for (const Var& var : free_vars(bytes)) analyzer.bind(var, 0, std::nullopt);
  bytes = analyzer.simplify(bytes);
  if (analyzer.prove_divisible(bytes, 16)) return bytes;
  return analyzer.simplify(padded(bytes, 16));
}

void Sizes::learn(const PrimExpr& expr, arith::Analyzer& analyzer) const {
  for (const Var& var : free_vars(expr)) {
    auto bound = bounds_.find(var.get());
    analyzer.bind(var, 0,
                  bound == bounds_.end() ? std::nullopt : std::optional<int64_t>(bound->second));
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

// Sums, products and maxima of what is not negative grow with every operand.
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

bool Sizes::may_be_at_most(int32_t a, int32_t b) const {
  if (a == b) return true;
  const Entry &less = entry(a), &more = entry(b);
  // What is larger in one case is not proved smaller.
  if (less.typical > more.typical) return false;
  if (less.least && more.least && *less.least > *more.least) return false;
  // Nor what grows with a symbol that the other one does not have.
  return std::all_of(less.unlimited.begin(), less.unlimited.end(), [&](const auto* symbol) {
    return std::binary_search(more.symbols.begin(), more.symbols.end(), symbol);
  });
}

bool Sizes::at_most(int32_t a, int32_t b) {
  if (a == b) return true;
  if (bytes(a).is_int() && bytes(b).is_int()) return bytes(a)->int_value <= bytes(b)->int_value;
  if (!may_be_at_most(a, b)) return false;
  auto [known, fresh] = at_most_.emplace(key(a, b), false);
  if (fresh) known->second = analyzer(bytes(a), bytes(b)).prove_less_equal(bytes(a), bytes(b));
  return known->second;
}

bool Sizes::may_combine(int32_t a, int32_t b) const {
  const Entry &one = entry(a), &other = entry(b);
  if (one.occurrences + other.occurrences > kMostOccurrences) return false;
  size_t symbols = one.symbols.size();
  for (const tapml::ExprNode* symbol : other.symbols) {
    symbols += std::binary_search(one.symbols.begin(), one.symbols.end(), symbol) ? 0 : 1;
  }
  return symbols <= kManySymbols;
}

int32_t Sizes::join(int32_t a, int32_t b) {
  if (at_most(a, b)) return b;
  if (at_most(b, a)) return a;
  auto [low, high] = std::minmax(a, b);
  auto known = joins_.find(key(low, high));
  if (known != joins_.end()) return known->second;
  int32_t joined = add(max(bytes(low), bytes(high)));
  joins_[key(low, high)] = joined;
  at_most_[key(a, joined)] = at_most_[key(b, joined)] = true;
  return joined;
}

int32_t Sizes::sum(int32_t a, int32_t b) {
  if (bytes(a).is_int(0)) return b;
  if (bytes(b).is_int(0)) return a;
  if (!may_combine(a, b)) return -1;
  auto [low, high] = std::minmax(a, b);
  auto known = sums_.find(key(low, high));
  if (known != sums_.end()) return known->second;
  int32_t result = -1;
  if (bytes(a).is_int() && bytes(b).is_int()) {
    int64_t total = 0;
    if (!__builtin_add_overflow(bytes(a)->int_value, bytes(b)->int_value, &total)) {
      result = add_constant(total);
    }
  } else {
    result = add(bytes(low) + bytes(high));
  }
  sums_[key(low, high)] = result;
  return result;
}

int32_t Sizes::aligned(int32_t a) {
  const Entry& entry = entries_[static_cast<size_t>(a)];
  if (entry.aligned >= 0) return entry.aligned;
  int32_t result = a;
  if (entry.bytes.is_int()) {
    auto place = padded_constant(entry.bytes->int_value, kTensorAlignment);
    if (!place) return -1;
    result = add_constant(*place);
  } else if (!analyzer(entry.bytes).prove_divisible(entry.bytes, kTensorAlignment)) {
    result = add(padded(PrimExpr(entry.bytes), kTensorAlignment));
  }
  entries_[static_cast<size_t>(a)].aligned = result;
  return result;
}

}  // namespace tapml::passes
