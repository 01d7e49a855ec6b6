#include <set>

#include "fuzz/language/language.h"

namespace tapml::fuzz {

using relax::Annotation;
using relax::Expr;
using relax::Variable;

// A tensor whose elements are the same in every run: a parameter or a constant.
LanguageGenerator::Elements LanguageGenerator::known_elements(Scope& scope, Expr& value) {
  if (scope.growable && scope.arguments && chance(0.3)) {
    value_of({Kind::kTensor, chance(0.5) ? DType::kI32 : DType::kBool, random_dims(2), {}, true},
             scope, true);
  }
  std::vector<const Known*> given;
  for (const Known& known : scope.values) {
    if (known.elements) given.push_back(&known);
  }
  // A function may also write to its arguments.
  if (!given.empty() && !writes_parameters_ && chance(0.7)) {
    const Known& known = *op::pick(given, rng_);
    value = known.value;
    return known.elements;
  }
  HostTensor tensor = HostTensor::zeros(chance(0.7) ? DType::kF32 : DType::kI32, random_dims(2));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, static_cast<double>(rng_.between(-2, 2)));
  }
  value = relax::make_constant(tensor);
  return std::make_shared<const op::RefTensor>(op::RefTensor::from(tensor));
}

// The cast of a value whose extents are those of `type`, the first one determined by the data.
Variable LanguageGenerator::cast_found(const Expr& found, const Type& type, Scope& scope) {
  Annotation annotation;
  if (chance(0.5)) {
    Dims dims = dims_of(type.dims, scope, false);
    dims[0] = symbol("k", type.dims[0]);
    annotation = relax::tensor_annotation(dims, type.dtype);
  } else {
    annotation = annotate(type, scope, true);
  }
  Variable cast = bind(scope, found, "cast", annotation);
  keep(scope, cast, type);
  return cast;
}

bool LanguageGenerator::find_nonzero(Scope& scope) {
  Expr value;
  const Elements elements = known_elements(scope, value);
  int64_t count = 0;
  for (size_t i = 0; i < elements->values.size(); ++i) count += elements->values[i] != 0;
  const auto rank = static_cast<int64_t>(elements->shape.size());
  Variable found = bind(scope, relax::make_op_call("nonzero", {value}), "found");
  cast_found(found, {Kind::kTensor, DType::kI32, {count, rank}, {}, true}, scope);
  return true;
}

bool LanguageGenerator::find_distinct(Scope& scope) {
  Expr value;
  const Elements elements = known_elements(scope, value);
  std::set<double> distinct;
  for (size_t i = 0; i < elements->values.size(); ++i) distinct.insert(elements->values[i]);
  const auto count = static_cast<int64_t>(distinct.size());
  Variable parts = bind(scope, relax::make_op_call("unique", {value}), "distinct");
  if (!relax::as_tuple(parts->annotation)) return true;
  auto field = [&](int i) { return bind(scope, relax::make_get_item(parts, i), "part"); };
  Variable values =
      cast_found(field(0), {Kind::kTensor, elements->dtype, {count}, {}, true}, scope);
  if (chance(0.5)) cast_found(field(2), {Kind::kTensor, DType::kI32, {count}, {}, true}, scope);
  if (chance(0.5)) {  // the tensor again, from its parts
    Type all{Kind::kTensor, elements->dtype, elements->shape, {}, true};
    keep(scope, bind(scope, relax::make_op_call("take", {values, field(1)}), "again"), all);
  }
  return true;
}

// For a tensor with unknown elements the count is unknown too, and counts may differ by rounding:
// values computed from it have a shape and elements that do not depend on it.
bool LanguageGenerator::find_unknown(Scope& scope) {
  std::vector<const Known*> given;
  for (const Known& known : scope.values) {
    const bool tensor = known.given && known.type && known.type->kind == Kind::kTensor;
    if (tensor && known.type->dtype == DType::kF32) given.push_back(&known);
  }
  if (given.empty()) return false;
  const Known known = *op::pick(given, rng_);
  const auto rank = static_cast<int64_t>(known.type->dims.size());
  Variable found = bind(scope, relax::make_op_call("nonzero", {known.value}), "found");
  Annotation annotation = relax::tensor_annotation({make_var(fresh("k")), rank}, DType::kI32);
  Variable cast = bind(scope, found, "cast", annotation);
  Variable zeros = bind(scope, relax::make_op_call("subtract", {cast, cast}), "zeros");
  Variable sum =
      bind(scope, relax::make_op_call("sum", {zeros}, {{"axes", std::vector<int64_t>{0}}}), "sum");
  keep(scope, sum, type_of(sum->annotation));
  return true;
}

bool LanguageGenerator::depends_on_data(Scope& scope) {
  switch (below(8)) {
    case 0:
    case 1: {  // a tensor read as a shape
      std::vector<int64_t> dims = {op::pick(extents_, rng_), op::pick(extents_, rng_)};
      HostTensor sizes = HostTensor::from<int64_t>(DType::kI64, {2}, dims);
      Variable shape = bind(
          scope, relax::make_op_call(op::kTensorToShape, {relax::make_constant(sizes)}), "read");
      Type type{Kind::kShape, DType::kI64, dims, {}, true};
      keep(scope, shape, type);
      keep(scope, bind(scope, shape, "cast", annotate(type, scope, true)), type);
      return true;
    }
    case 2:
      return find_unknown(scope);
    case 3:
    case 4:
      return find_nonzero(scope);
    default:
      return find_distinct(scope);
  }
}

}  // namespace tapml::fuzz
