#include "passes/shape_check.h"

#include "arith/symbols.h"
#include "ir/exceptions.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

bool is_shape_certain(const Annotation& found, const Annotation& expected,
                      const std::string& where) {
  auto refuse = [&](const std::string& what) {
    throw_user(what, where, to_string(expected), to_string(found));
  };
  if (const auto* fields = as_tuple(expected)) {
    const auto* own = as_tuple(found);
    if (!own || own->fields.size() != fields->fields.size()) refuse("another number of tensors");
    bool certain = true;
    for (size_t i = 0; i < fields->fields.size(); ++i) {
      certain &= is_shape_certain(own->fields[i], fields->fields[i],
                                  where + ", field " + std::to_string(i));
    }
    return certain;
  }
  const auto *tensor = as_tensor(found), *wanted = as_tensor(expected);
  if (!tensor || !wanted) return true;
  if (tensor->dtype && wanted->dtype && tensor->dtype != wanted->dtype) refuse("another dtype");
  if (!tensor->shape || !wanted->shape) return true;
  if (tensor->shape->size() != wanted->shape->size()) refuse("another rank");
  std::vector<Var> vars;
  collect_vars(found, vars);
  collect_vars(expected, vars);
  arith::Analyzer analyzer;
  for (const Var& var : vars) arith::bind_symbol(var, std::nullopt, analyzer);
  bool certain = true;
  for (size_t i = 0; i < tensor->shape->size(); ++i) {
    const PrimExpr &a = (*tensor->shape)[i], &b = (*wanted->shape)[i];
    if (analyzer.prove_equal(a, b)) continue;
    if (analyzer.prove_less(a, b) || analyzer.prove_less(b, a)) {
      refuse("dimension " + std::to_string(i) + " is " + to_string(a) + ", not " + to_string(b));
    }
    certain = false;
  }
  return certain;
}

Expr check_shape(const Expr& arg, const Annotation& expected, const std::string& name,
                 const CheckNote& note, bool dataflow, std::vector<Binding>& before) {
  if (is_shape_certain(annotation_of(arg), expected, note.what)) return arg;
  Variable checked = make_variable(name, expected, dataflow);
  before.push_back({checked, arg, expected, {}, note});
  return checked;
}

}  // namespace tapml::passes
