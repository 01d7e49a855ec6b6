#include "interp/item.h"

#include <algorithm>

#include "abi/expected_text.h"
#include "arith/broadcast_dim.h"
#include "arith/scalar_program.h"
#include "ir/exceptions.h"
#include "relax/solve.h"

namespace tapml::interp {

Value Value::tuple(ValueList fields) {
  return {std::make_shared<const ValueList>(std::move(fields))};
}

Value Value::scalar(Scalar scalar) {
  if (scalar.dtype == DType::kI64) return {scalar.integer};
  return {scalar};
}

Item tensor_item(op::RefTensor tensor) {
  Item item;
  item.tensor = std::make_shared<const op::RefTensor>(std::move(tensor));
  return item;
}

Item borrow(const Value& value) {
  Item item;
  if (const auto* tensor = std::get_if<op::RefTensor>(&value.data)) {
    item.tensor = std::shared_ptr<const op::RefTensor>(std::shared_ptr<void>(), tensor);
  } else if (const auto* dims = std::get_if<std::vector<int64_t>>(&value.data)) {
    item.kind = ItemKind::kShape;
    item.ints = *dims;
  } else if (const auto* prim = std::get_if<int64_t>(&value.data)) {
    item.kind = ItemKind::kPrim;
    item.ints = {*prim};
  } else if (const auto* scalar = std::get_if<Scalar>(&value.data)) {
    item.kind = ItemKind::kPrim;
    item.dtype = scalar->dtype;
    item.ints = {scalar->integer};
    item.number = scalar->number;
  } else if (const auto* function = std::get_if<FunctionValue>(&value.data)) {
    item.kind = ItemKind::kFunction;
    item.closure = function->closure;
    if (!item.closure) throw_internal("a function's name was not looked up", function->name);
  } else {
    item.kind = ItemKind::kTuple;
    for (const Value& field : value.as_tuple()) item.fields.push_back(borrow(field));
  }
  return item;
}

Value to_value(const Item& item) {
  switch (item.kind) {
    case ItemKind::kTensor:
      return Value::tensor(*item.tensor);
    case ItemKind::kShape:
      return Value::shape(item.ints);
    case ItemKind::kPrim:
      return Value::scalar({item.dtype, item.ints[0], item.number});
    case ItemKind::kFunction:
      return {FunctionValue{item.closure->name, item.closure}};
    case ItemKind::kTuple: {
      ValueList fields;
      for (const Item& field : item.fields) fields.push_back(to_value(field));
      return Value::tuple(std::move(fields));
    }
  }
  throw_internal("unknown kind of value");
}

relax::Annotation exact_annotation(const Item& item) {
  Dims dims(item.ints.begin(), item.ints.end());
  switch (item.kind) {
    case ItemKind::kTensor:
      return relax::tensor_annotation(Dims(item.tensor->shape.begin(), item.tensor->shape.end()),
                                      item.tensor->dtype);
    case ItemKind::kShape:
      return relax::shape_annotation(std::move(dims));
    case ItemKind::kPrim:
      return is_integer(item.dtype) || item.dtype == DType::kBool
                 ? relax::prim_annotation(item.dtype, make_int(item.ints[0], item.dtype))
                 : relax::prim_annotation(item.dtype);
    case ItemKind::kFunction:
      return relax::object_annotation();
    case ItemKind::kTuple: {
      std::vector<relax::Annotation> fields;
      for (const Item& field : item.fields) fields.push_back(exact_annotation(field));
      return relax::tuple_annotation(std::move(fields));
    }
  }
  throw_internal("unknown kind of value");
}

Item shape_from(const op::RefTensor& tensor) {
  Item shape;
  shape.kind = ItemKind::kShape;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    shape.ints.push_back(tensor.integer(i));
    if (shape.ints.back() < 0) {
      throw_user("a tensor that is read as a shape has a negative element", "",
                 "dimensions of at least 0", std::to_string(shape.ints.back()));
    }
  }
  return shape;
}

void own(Item& item) {
  if (item.tensor) item.tensor = std::make_shared<const op::RefTensor>(*item.tensor);
  for (Item& field : item.fields) own(field);
}

std::string describe(const Item& item) {
  switch (item.kind) {
    case ItemKind::kTensor:
      return std::string("a tensor ") + dtype_name(item.tensor->dtype) +
             shape_to_string(item.tensor->shape);
    case ItemKind::kShape:
      return "a shape " + shape_to_string(item.ints);
    case ItemKind::kPrim: {
      std::string number =
          is_float(item.dtype) ? std::to_string(item.number) : std::to_string(item.ints[0]);
      if (item.dtype == DType::kBool) number = item.ints[0] ? "true" : "false";
      return std::string("a host scalar ") + dtype_name(item.dtype) + " " + number;
    }
    case ItemKind::kTuple:
      return "a tuple of " + std::to_string(item.fields.size()) + " fields";
    case ItemKind::kFunction:
      return "a function value @" + item.closure->name + " of " +
             std::to_string(item.closure->function->params.size()) + " parameters";
  }
  return "?";
}

int64_t value_of(const PrimExpr& expr, const Symbols& symbols) {
  std::optional<int64_t> value = arith::evaluate(expr, symbols);
  if (value) return *value;
  for (const Var& var : free_vars(expr)) {
    if (!symbols.contains(var.get())) {
      throw_internal("the symbolic variable " + var->name + " in " + to_string(expr) +
                     " has no value");
    }
  }
  throw_error(arithmetic_error(expr, symbols));
}

Error arithmetic_error(const PrimExpr& expr, const Symbols& symbols) {
  const std::vector<Var> vars = free_vars(expr);
  std::vector<int64_t> slots;
  for (const Var& var : vars) slots.push_back(symbols.at(var.get()));
  auto computed = guard([&] { return unwrap(evaluate(arith::compile_scalar(expr, vars), slots)); });
  if (!computed) return std::move(computed).error();
  return user_error("a host scalar does not fit its dtype", "",
                    std::string("a value of ") + dtype_name(expr.dtype()),
                    std::to_string(*computed));
}

namespace {

// What an annotation requires apart from its dimensions.
std::string describe(const relax::Annotation& annotation) {
  auto rank = [](int ndim) {
    return ndim == relax::kUnknownNdim ? "" : " with " + std::to_string(ndim) + " dimensions";
  };
  if (const auto* tensor = relax::as_tensor(annotation)) {
    return "a tensor" + (tensor->dtype ? std::string(" of ") + dtype_name(*tensor->dtype) : "") +
           rank(tensor->ndim);
  }
  if (const auto* shape = relax::as_shape(annotation)) return "a shape" + rank(shape->ndim);
  if (const auto* prim = relax::as_prim(annotation)) {
    return std::string("a scalar of ") + dtype_name(prim->dtype);
  }
  if (const auto* tuple = relax::as_tuple(annotation)) {
    return "a tuple of " + std::to_string(tuple->fields.size()) + " fields";
  }
  if (const auto* callable = relax::as_callable(annotation)) {
    return "a function value of " + std::to_string(callable->params.size()) + " parameters";
  }
  return "anything";
}

}  // namespace

void AnnotationBinder::bind_integer(const PrimExpr& expected, int64_t value,
                                    const std::string& place, const Item& item, int dimension) {
  if (expected.is_var() && symbols_.emplace(expected.get(), value).second) {
    return check_bound(expected, value);
  }
  later_.push_back(
      {expected, value, place, describe(item), dimension, item.kind == ItemKind::kTensor});
}

void AnnotationBinder::bind_dims(const Dims& dims, const Item& item, const std::string& place) {
  const std::vector<int64_t>& values =
      item.kind == ItemKind::kTensor ? item.tensor->shape : item.ints;
  for (size_t d = 0; d < dims.size(); ++d) {
    bind_integer(dims[d], values[d], place, item, static_cast<int>(d));
  }
}

void AnnotationBinder::bind(const relax::Annotation& annotation, const Item& item,
                            const std::string& place) {
  auto expect = [&](bool good) {
    if (good) return;
    throw_user(place + " is not what the program expects", place, describe(annotation),
               interp::describe(item));
  };
  auto expect_rank = [&](int ndim, size_t rank) {
    expect(ndim == relax::kUnknownNdim || static_cast<size_t>(ndim) == rank);
  };
  if (const auto* prim = relax::as_prim(annotation)) {
    expect(item.kind == ItemKind::kPrim && item.dtype == prim->dtype);
    if (prim->value && !is_float(prim->dtype)) {
      bind_integer(prim->value, item.ints[0], place, item, -1);
    }
  } else if (const auto* shape = relax::as_shape(annotation)) {
    expect(item.kind == ItemKind::kShape);
    expect_rank(shape->ndim, item.ints.size());
    if (shape->dims) bind_dims(*shape->dims, item, place);
  } else if (const auto* tensor = relax::as_tensor(annotation)) {
    expect(item.kind == ItemKind::kTensor &&
           (!tensor->dtype || *tensor->dtype == item.tensor->dtype));
    expect_rank(tensor->ndim, item.tensor->shape.size());
    if (tensor->shape) bind_dims(*tensor->shape, item, place);
  } else if (const auto* tuple = relax::as_tuple(annotation)) {
    expect(item.kind == ItemKind::kTuple && item.fields.size() == tuple->fields.size());
    for (size_t f = 0; f < tuple->fields.size(); ++f) {
      bind(tuple->fields[f], item.fields[f], place + ", field " + std::to_string(f));
    }
  } else if (const auto* callable = relax::as_callable(annotation)) {
    expect(item.kind == ItemKind::kFunction &&
           item.closure->function->params.size() == callable->params.size());
  }
}

void AnnotationBinder::solve() {
  for (bool progress = true; progress;) {
    progress = false;
    for (const Later& one : later_) {
      std::vector<Var> unknown;
      for (const Var& var : free_vars(one.expr)) {
        if (!symbols_.contains(var.get())) unknown.push_back(var);
      }
      if (unknown.size() != 1) continue;
      std::optional<relax::LinearIn> linear = relax::linear_in(one.expr, unknown[0]);
      std::optional<int64_t> offset =
          linear ? arith::evaluate(linear->offset, symbols_) : std::nullopt;
      int64_t rest = 0;
      if (!offset || __builtin_sub_overflow(one.value, *offset, &rest)) continue;
      int64_t value = rest / linear->factor;
      if (rest % linear->factor != 0 && (rest < 0) != (linear->factor < 0)) --value;
      // A tensor's dimension is never negative; if the expression is, the comparison fails.
      if (one.of_tensor) value = std::max<int64_t>(value, 0);
      symbols_[unknown[0].get()] = value;
      check_bound(unknown[0], value);
      progress = true;
    }
  }
}

void AnnotationBinder::check_bound(const Var& var, int64_t value) const {
  const std::optional<int64_t> most = of_ ? of_->symbols.most(var, of_->function) : std::nullopt;
  if (!most || value <= *most) return;
  throw_error(above_bound(of_->symbols.source(var, of_->name), of_->name, value, *most));
}

std::vector<SymbolValue> AnnotationBinder::sources(const PrimExpr& expr) const {
  std::vector<SymbolValue> known;
  if (!of_) return known;
  for (const Var& var : free_vars(expr)) {
    known.push_back({of_->symbols.source(var, of_->name), symbols_.at(var.get())});
  }
  return known;
}

void AnnotationBinder::compare() {
  for (const Later& one : later_) {
    std::optional<int64_t> expected = arith::evaluate(one.expr, symbols_);
    if (expected && *expected == one.value) continue;
    const std::string expression = arith::dim_text(one.expr);
    const bool is_dimension = one.dimension >= 0;
    const std::string what =
        is_dimension ? "dimension " + std::to_string(one.dimension) : "the value";
    const std::string place = one.place + (is_dimension ? ", " + what : "");
    if (!expected) {
      for (const Var& var : free_vars(one.expr)) {
        if (!symbols_.contains(var.get())) {
          throw_user(expression + " has no value", place,
                     "a parameter or match_cast that gives " + var->name + " one");
        }
      }
      throw_error(without_value(arithmetic_error(one.expr, symbols_), place, expression,
                                sources(one.expr)));
    }
    throw_user(what + " of " + one.place + " is " + std::to_string(one.value) + ", not " +
                   expected_text(expression, *expected),
               place, expected_with_sources(expression, *expected, sources(one.expr)),
               std::to_string(one.value) + (is_dimension ? " (" + one.found + ")" : ""));
  }
  later_.clear();
}

void AnnotationBinder::finish() {
  solve();
  compare();
}

void AnnotationBinder::finish_known() {
  std::erase_if(later_, [&](const Later& one) {
    for (const Var& var : free_vars(one.expr)) {
      if (!symbols_.contains(var.get())) return true;
    }
    return false;
  });
  compare();
}

}  // namespace tapml::interp
