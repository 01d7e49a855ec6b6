#include "passes/memory/sizes.h"

#include <algorithm>

#include "abi/alignment.h"
#include "arith/evaluate.h"

namespace tapml::passes {

namespace {

// Where nothing is known of a dimension; only decides between two right plans.
constexpr int64_t kTypicalDimension = 512;
constexpr size_t kManySymbols = 16;

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
  entry.typical = static_cast<double>(bytes);
  entry.aligned = -1;
  alike_[{entry.typical, {}}].push_back(known->second);
  entries_.push_back(std::move(entry));
  return known->second;
}

int32_t Sizes::add(const PrimExpr& bytes) {
  if (bytes.is_int()) return add_constant(bytes->int_value);
  std::vector<int32_t>& alike = by_text_[to_string(bytes)];
  for (int32_t one : alike) {
    if (same_expr(this->bytes(one), bytes)) return one;
  }
  Entry entry;
  entry.aligned = -1;
  arith::Analyzer& analyzer = this->analyzer(bytes);
  entry.bytes = analyzer.simplify(bytes);
  if (entry.bytes.is_int()) {
    int32_t constant = add_constant(entry.bytes->int_value);
    alike.push_back(constant);
    return constant;
  }
  if (auto most = analyzer.upper_bound(entry.bytes)) entry.most = padded_constant(*most, 16);
  arith::Values values;
  for (const Var& var : free_vars(entry.bytes)) {
    auto bound = bounds_.find(var.get());
    values[var.get()] = bound == bounds_.end() ? kTypicalDimension : bound->second;
    entry.symbols.push_back(var.get());
  }
  std::sort(entry.symbols.begin(), entry.symbols.end());
  if (!entry.most) add_unlimited(entry.bytes, entry.unlimited);
  entry.typical = static_cast<double>(arith::evaluate(entry.bytes, values).value_or(0));
  std::vector<int32_t>& same = alike_[{entry.typical, entry.symbols}];
  for (int32_t one : same) {
    if (!analyzer.prove_equal(this->bytes(one), entry.bytes)) continue;
    alike.push_back(one);
    return one;
  }
  entries_.push_back(std::move(entry));
  auto size = static_cast<int32_t>(entries_.size() - 1);
  same.push_back(size);
  alike.push_back(size);
  return size;
}

bool Sizes::at_most(int32_t a, int32_t b) {
  if (a == b) return true;
  // What is larger in one case is not proved smaller.
  if (typical(a) > typical(b)) return false;
  if (bytes(a).is_int() && bytes(b).is_int()) return bytes(a)->int_value <= bytes(b)->int_value;
  // Nor what grows with a symbol that the other one does not have.
  const Entry &less = entries_[static_cast<size_t>(a)], &more = entries_[static_cast<size_t>(b)];
  for (const tapml::ExprNode* symbol : less.unlimited) {
    if (!std::binary_search(more.symbols.begin(), more.symbols.end(), symbol)) return false;
  }
  auto [known, fresh] = at_most_.emplace(key(a, b), false);
  if (fresh) {
    known->second = analyzer(less.bytes, more.bytes).prove_less_equal(less.bytes, more.bytes);
  }
  return known->second;
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
