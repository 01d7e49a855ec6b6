#include "relax/unify.h"

#include "arith/analyzer.h"
#include "relax/solve.h"
#include "relax/visit.h"

namespace tapml::relax {

namespace {

// A dimension that is an expression, and the dimension that it must equal.
struct Pair {
  PrimExpr param, argument;
};

class Unifier {
 public:
  explicit Unifier(VarMap& values) : values_(values) {}

  bool match(const Annotation& param, const Annotation& argument) {
    if (param->kind == AnnotationKind::kObject || argument->kind == AnnotationKind::kObject) {
      return true;
    }
    if (param->kind != argument->kind) return false;
    if (const auto* p = as_prim(param)) {
      const auto* a = as_prim(argument);
      if (p->dtype != a->dtype) return false;
      return !p->value || !a->value || integer(p->value, a->value);
    }
    if (const auto* p = as_shape(param)) {
      const auto* a = as_shape(argument);
      return ranks(p->ndim, a->ndim) && (!p->dims || !a->dims || dims(*p->dims, *a->dims));
    }
    if (const auto* p = as_tensor(param)) {
      const auto* a = as_tensor(argument);
      if (p->dtype && a->dtype && *p->dtype != *a->dtype) return false;
      return ranks(p->ndim, a->ndim) && (!p->shape || !a->shape || dims(*p->shape, *a->shape));
    }
    if (const auto* p = as_tuple(param)) {
      const auto* a = as_tuple(argument);
      if (p->fields.size() != a->fields.size()) return false;
      for (size_t i = 0; i < p->fields.size(); ++i) {
        if (!match(p->fields[i], a->fields[i])) return false;
      }
      return true;
    }
    const auto *p = as_callable(param), *a = as_callable(argument);
    return p->params.size() == a->params.size() && (a->pure || !p->pure);
  }

  // Solves for variables that occur only in expressions.
  void solve() {
    for (bool progress = true; progress;) {
      progress = false;
      for (const Pair& pair : open_) progress |= solve(pair);
    }
  }

 private:
  static bool ranks(int a, int b) { return a == kUnknownNdim || b == kUnknownNdim || a == b; }

  bool dims(const Dims& params, const Dims& args) {
    if (params.size() != args.size()) return false;
    for (size_t i = 0; i < params.size(); ++i) {
      if (!integer(params[i], args[i])) return false;
    }
    return true;
  }

  bool integer(const PrimExpr& param, const PrimExpr& arg) {
    if (param.is_var()) {
      auto [it, is_new] = values_.emplace(param.get(), arg);
      return is_new || !it->second.is_int() || !arg.is_int() ||
             it->second->int_value == arg->int_value;
    }
    if (!param.is_int()) open_.push_back({param, arg});
    return !param.is_int() || !arg.is_int() || param->int_value == arg->int_value;
  }

  bool solve(const Pair& pair) {
    const Var* unknown = nullptr;
    size_t count = 0;
    std::vector<Var> vars = free_vars(pair.param);
    for (const Var& var : vars) {
      if (values_.contains(var.get())) continue;
      unknown = &var;
      ++count;
    }
    if (count != 1) return false;
    std::optional<LinearIn> linear = linear_in(pair.param, *unknown);
    if (!linear) return false;
    PrimExpr rest = pair.argument - tapml::substitute(linear->offset, values_);
    arith::Analyzer analyzer;
    if (linear->factor != 1 && !analyzer.prove_divisible(rest, linear->factor)) return false;
    values_.emplace(unknown->get(), analyzer.simplify(floordiv(rest, linear->factor)));
    return true;
  }

  VarMap& values_;
  std::vector<Pair> open_;
};

}  // namespace

bool unify_all(const std::vector<Annotation>& params, const std::vector<Annotation>& arguments,
               VarMap& values, size_t& index) {
  Unifier unifier(values);
  for (index = 0; index < params.size(); ++index) {
    if (!unifier.match(params[index], arguments[index])) return false;
  }
  unifier.solve();
  return true;
}

bool unify(const Annotation& param, const Annotation& argument, VarMap& values) {
  size_t index = 0;
  return unify_all({param}, {argument}, values, index);
}

}  // namespace tapml::relax
