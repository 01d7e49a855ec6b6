#include "passes/memory/sizes.h"

#include "arith/evaluate.h"

namespace tapml::passes {

namespace {

// Where nothing is known of a dimension; only decides between two right plans.
constexpr int64_t kTypicalDimension = 512;

}  // namespace

PrimExpr storage_bytes(const Dims& shape, DType dtype) {
  PrimExpr bytes = static_cast<int64_t>(dtype_bytes(dtype));
  for (const PrimExpr& dim : shape) bytes = bytes * dim;
  arith::Analyzer analyzer;
  for (const Var& var : free_vars(bytes)) analyzer.bind(var, 0, std::nullopt);
  bytes = analyzer.simplify(bytes);
  if (analyzer.prove_divisible(bytes, 16)) return bytes;
  return analyzer.simplify(floordiv(bytes + 15, 16) * 16);
}

void Sizes::learn(const PrimExpr& expr) {
  for (const Var& var : free_vars(expr)) {
    if (!known_.emplace(var.get(), true).second) continue;
    auto bound = bounds_.find(var.get());
    analyzer_.bind(var, 0,
                   bound == bounds_.end() ? std::nullopt : std::optional<int64_t>(bound->second));
  }
}

int32_t Sizes::add(const PrimExpr& bytes) {
  std::vector<int32_t>& alike = by_text_[to_string(bytes)];
  for (int32_t one : alike) {
    if (same_expr(this->bytes(one), bytes)) return one;
  }
  learn(bytes);
  Entry entry;
  entry.bytes = analyzer_.simplify(bytes);
  if (auto most = analyzer_.upper_bound(entry.bytes); most && *most <= INT64_MAX - 15) {
    entry.most = (*most + 15) / 16 * 16;
  }
  arith::Values values;
  for (const Var& var : free_vars(entry.bytes)) {
    auto bound = bounds_.find(var.get());
    values[var.get()] = bound == bounds_.end() ? kTypicalDimension : bound->second;
  }
  entry.typical = static_cast<double>(arith::evaluate(entry.bytes, values).value_or(0));
  std::vector<int32_t>& same = by_typical_[entry.typical];
  for (int32_t one : same) {
    if (!analyzer_.prove_equal(this->bytes(one), entry.bytes)) continue;
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
  auto [known, fresh] = at_most_.emplace(std::pair(a, b), false);
  // What is larger in one case is not proved smaller.
  if (fresh && typical(a) <= typical(b)) {
    known->second = analyzer_.prove_less_equal(bytes(a), bytes(b));
  }
  return known->second;
}

int32_t Sizes::join(int32_t a, int32_t b) {
  if (at_most(a, b)) return b;
  if (at_most(b, a)) return a;
  auto key = std::minmax(a, b);
  auto known = joins_.find(key);
  if (known != joins_.end()) return known->second;
  int32_t joined = add(max(bytes(key.first), bytes(key.second)));
  joins_[key] = joined;
  at_most_[{a, joined}] = at_most_[{b, joined}] = true;
  return joined;
}

}  // namespace tapml::passes
