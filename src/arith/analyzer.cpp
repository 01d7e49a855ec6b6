#include "arith/analyzer.h"

#include "arith/simplifier.h"
#include "ir/exceptions.h"

namespace tapml::arith {

struct Analyzer::State {
  std::shared_ptr<AtomTable> atoms = std::make_shared<AtomTable>();
  Facts facts;

  Simplifier simplifier() { return Simplifier(*atoms, facts); }
  AtomId variable(const Var& var) {
    if (!var || !var.is_var()) throw_internal("a fact about something that is not a variable");
    return atoms->intern(var);
  }
};

Analyzer::Analyzer() : state_(std::make_unique<State>()) {}
Analyzer::Analyzer(const Analyzer& other) : state_(std::make_unique<State>(*other.state_)) {}
Analyzer& Analyzer::operator=(const Analyzer& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
Analyzer::Analyzer(Analyzer&&) noexcept = default;
Analyzer& Analyzer::operator=(Analyzer&&) noexcept = default;
Analyzer::~Analyzer() = default;

void Analyzer::bind(const Var& var, std::optional<int64_t> lo, std::optional<int64_t> hi) {
  state_->facts.restrict(state_->variable(var), to_range({lo, hi}));
}

void Analyzer::bind_range(const Var& var, const PrimExpr& extent) {
  AtomId id = state_->variable(var);
  Simplifier simplifier = state_->simplifier();
  Polynomial last = simplifier.polynomial(extent) - 1;
  Range range{0, Range::kPosInf};
  if (last.valid()) range.hi = simplifier.prover().upper(last);
  state_->facts.restrict(id, range);
  if (last.valid() && !last.is_constant() && !last.contains(id)) {
    state_->facts.add_upper(id, {1, last});
  }
}

void Analyzer::assume(const PrimExpr& condition) {
  Facts extended = state_->facts;
  state_->simplifier().learn(condition, true, extended);
  state_->facts = std::move(extended);
}

PrimExpr Analyzer::simplify(const PrimExpr& expr) { return state_->simplifier().simplify(expr); }

Interval Analyzer::bounds(const PrimExpr& expr) {
  Simplifier simplifier = state_->simplifier();
  Polynomial p = simplifier.polynomial(expr);
  if (p.is_constant()) return {p.constant(), p.constant()};
  return to_interval(simplifier.prover().bounds(p));
}

bool Analyzer::prove(const PrimExpr& condition) { return state_->simplifier().prove(condition); }

bool Analyzer::prove_equal(const PrimExpr& a, const PrimExpr& b) { return prove(eq(a, b)); }
bool Analyzer::prove_less(const PrimExpr& a, const PrimExpr& b) { return prove(lt(a, b)); }
bool Analyzer::prove_less_equal(const PrimExpr& a, const PrimExpr& b) { return prove(le(a, b)); }

bool Analyzer::prove_divisible(const PrimExpr& expr, int64_t divisor) {
  Simplifier simplifier = state_->simplifier();
  return simplifier.prover().divisible(simplifier.polynomial(expr), divisor);
}

std::optional<int64_t> Analyzer::as_constant(const PrimExpr& expr) {
  PrimExpr simple = simplify(expr);
  if (!simple.is_int()) return std::nullopt;
  return simple->int_value;
}

std::optional<int64_t> Analyzer::upper_bound(const PrimExpr& expr) { return bounds(expr).hi; }
std::optional<int64_t> Analyzer::lower_bound(const PrimExpr& expr) { return bounds(expr).lo; }

}  // namespace tapml::arith
