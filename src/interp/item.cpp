#include "interp/item.h"

#include "ir/exceptions.h"

namespace tapml::interp {

Value Value::tuple(ValueList fields) {
  return {std::make_shared<const ValueList>(std::move(fields))};
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
      return {item.ints[0]};
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
      return relax::prim_annotation(DType::kI64, dims[0]);
    case ItemKind::kTuple: {
      std::vector<relax::Annotation> fields;
      for (const Item& field : item.fields) fields.push_back(exact_annotation(field));
      return relax::tuple_annotation(std::move(fields));
    }
  }
  throw_internal("unknown kind of value");
}

std::string describe(const Item& item) {
  switch (item.kind) {
    case ItemKind::kTensor:
      return dtype_name(item.tensor->dtype) + shape_to_string(item.tensor->shape);
    case ItemKind::kShape:
      return "shape " + shape_to_string(item.ints);
    case ItemKind::kPrim:
      return "integer " + std::to_string(item.ints[0]);
    case ItemKind::kTuple:
      return "tuple of " + std::to_string(item.fields.size());
  }
  return "?";
}

int64_t value_of(const PrimExpr& expr, const Symbols& symbols) {
  std::optional<int64_t> value = arith::evaluate(expr, symbols);
  if (!value) throw_internal("no value of the symbolic expression " + to_string(expr));
  return *value;
}

void AnnotationBinder::mismatch(const std::string& what, const std::string& expected,
                                const std::string& found) const {
  throw_user(what + " does not fit its annotation", where_, expected, found);
}

void AnnotationBinder::bind_dim(const PrimExpr& dim, int64_t value, const std::string& what) {
  if (dim.is_int()) {
    if (dim->int_value != value) mismatch(what, to_string(dim), std::to_string(value));
    return;
  }
  if (!dim.is_var()) {
    later_.push_back({dim, value, what});
    return;
  }
  auto [it, is_new] = symbols_.emplace(dim.get(), value);
  if (!is_new && it->second != value) {
    mismatch(what, dim->name + " = " + std::to_string(it->second), std::to_string(value));
  }
}

void AnnotationBinder::bind_dims(const Dims& dims, const std::vector<int64_t>& values,
                                 const std::string& what) {
  for (size_t d = 0; d < dims.size(); ++d) {
    bind_dim(dims[d], values[d], "dimension " + std::to_string(d) + " of " + what);
  }
}

void AnnotationBinder::bind(const relax::Annotation& annotation, const Item& item,
                            const std::string& what) {
  auto fail = [&] { mismatch(what, to_string(annotation), describe(item)); };
  switch (annotation->kind) {
    case relax::AnnotationKind::kObject:
    case relax::AnnotationKind::kCallable:
      return;
    case relax::AnnotationKind::kPrim: {
      if (item.kind != ItemKind::kPrim) fail();
      const auto* prim = relax::as_prim(annotation);
      if (prim->value) bind_dim(prim->value, item.ints[0], what);
      return;
    }
    case relax::AnnotationKind::kShape: {
      const auto* shape = relax::as_shape(annotation);
      if (item.kind != ItemKind::kShape) fail();
      if (shape->ndim != relax::kUnknownNdim &&
          static_cast<size_t>(shape->ndim) != item.ints.size()) {
        fail();
      }
      if (shape->dims) bind_dims(*shape->dims, item.ints, what);
      return;
    }
    case relax::AnnotationKind::kTensor: {
      const auto* tensor = relax::as_tensor(annotation);
      if (item.kind != ItemKind::kTensor) fail();
      const op::RefTensor& found = *item.tensor;
      if (tensor->dtype && *tensor->dtype != found.dtype) fail();
      if (tensor->ndim != relax::kUnknownNdim &&
          static_cast<size_t>(tensor->ndim) != found.shape.size()) {
        fail();
      }
      if (tensor->shape) bind_dims(*tensor->shape, found.shape, what);
      return;
    }
    case relax::AnnotationKind::kTuple: {
      const auto* tuple = relax::as_tuple(annotation);
      if (item.kind != ItemKind::kTuple || item.fields.size() != tuple->fields.size()) fail();
      for (size_t f = 0; f < tuple->fields.size(); ++f) {
        bind(tuple->fields[f], item.fields[f], "field " + std::to_string(f) + " of " + what);
      }
      return;
    }
  }
}

void AnnotationBinder::finish() {
  for (const Later& check : later_) {
    int64_t expected = value_of(check.expr, symbols_);
    if (expected != check.value) {
      mismatch(check.what, to_string(check.expr) + " = " + std::to_string(expected),
               std::to_string(check.value));
    }
  }
  later_.clear();
}

}  // namespace tapml::interp
