#include "runtime/storage_op.h"

#include <algorithm>
#include <cstring>

#include "runtime/value_check.h"

namespace tapml::runtime {

namespace {

Shape compact_strides(std::span<const int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Whether the elements are contiguous and in order.
bool lies_together(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

// Converts a tensor or a view to a view; null storage if it is neither.
View placed(const Value& value) {
  if (const View* view = value.view()) return *view;
  const Tensor* tensor = value.tensor();
  if (!tensor) return {};
  View view;
  view.base = *tensor;
  view.base.shape = {element_count(tensor->shape)};
  view.shape = tensor->shape;
  view.strides = compact_strides(view.shape);
  return view;
}

Value to_value(View view) {
  if (lies_together(view.shape, view.strides)) {
    Tensor tensor = std::move(view.base);
    tensor.offset += view.offset * static_cast<int64_t>(dtype_bytes(tensor.dtype));
    tensor.shape = view.shape;
    return Value(std::move(tensor));
  }
  Value value;
  value.data = std::make_shared<const View>(std::move(view));
  return value;
}

Result<Value> reshape(View view, const Value& of, const Value& wanted) {
  const Shape* shape = wanted.shape();
  if (!shape) {
    return fail(
        user_error("the shape of a view must be a shape value", "", "a shape", describe(wanted)));
  }
  if (!lies_together(view.shape, view.strides)) {
    return fail(user_error("a view that is not compact cannot be reshaped", "",
                           "a tensor, or a view of whole rows of one", describe(of)));
  }
  const int64_t elements = element_count(view.shape);
  Result<int64_t> bytes = checked_byte_count(view.base.dtype, *shape);
  if (!bytes || *bytes != elements * static_cast<int64_t>(dtype_bytes(view.base.dtype))) {
    return fail(user_error("the shape of a view has a different number of elements", "",
                           std::to_string(elements) + " elements", describe(wanted)));
  }
  view.strides = compact_strides(*shape);
  view.shape = *shape;
  return to_value(std::move(view));
}

Result<Value> slice(View view, const Value& of, const Value& from, const Value& wanted) {
  const Shape *begin = from.shape(), *size = wanted.shape();
  if (!begin || !size) {
    return fail(user_error("the bounds of a part of a tensor must be shapes", "", "shapes",
                           describe(begin ? wanted : from)));
  }
  bool inside = begin->size() == view.shape.size() && size->size() == view.shape.size();
  int64_t first = view.offset;
  for (size_t d = 0; inside && d < view.shape.size(); ++d) {
    inside = (*begin)[d] >= 0 && (*size)[d] >= 0 && (*size)[d] <= view.shape[d] &&
             (*begin)[d] <= view.shape[d] - (*size)[d];
    if (inside) first += (*begin)[d] * view.strides[d];
  }
  if (!inside) {
    return fail(user_error("a part of a tensor is out of bounds", "", "a part of " + describe(of),
                           shape_to_string(*size) + " from " + shape_to_string(*begin)));
  }
  // An empty part may begin after the last element, outside of the storage.
  if (element_count(*size) > 0) view.offset = first;
  view.shape = *size;
  return to_value(std::move(view));
}

Result<Value> transpose(View view, std::span<const int32_t> axes) {
  if (axes.size() != view.shape.size()) {
    return fail(user_error("view_transpose needs an axis for each dimension of its tensor", "",
                           std::to_string(view.shape.size()) + " axes",
                           std::to_string(axes.size())));
  }
  const Shape shape = view.shape, strides = view.strides;
  for (size_t d = 0; d < axes.size(); ++d) {
    view.shape[d] = shape[static_cast<size_t>(axes[d])];
    view.strides[d] = strides[static_cast<size_t>(axes[d])];
  }
  return to_value(std::move(view));
}

Value layout(const View& view) {
  Shape numbers = {view.offset};
  numbers.insert(numbers.end(), view.strides.begin(), view.strides.end());
  return Value(std::move(numbers));
}

Result<Value> check_assign(const View& target, const Value& to, const Value& from) {
  const View source = placed(from);
  if (!source.base.storage || source.shape != target.shape ||
      source.base.dtype != target.base.dtype) {
    return fail(user_error("the assigned value does not have the shape and dtype of its target", "",
                           describe(to), describe(from)));
  }
  Value nothing;
  nothing.data = std::make_shared<const ValueList>();
  return nothing;
}

// Copies element by element from the bytes of its base.
Result<Value> compact(const View& view, Session& session) {
  TAPML_ASSIGN(HostTensor base, download(view.base));
  HostTensor copy = HostTensor::zeros(view.base.dtype, view.shape);
  const size_t width = dtype_bytes(view.base.dtype);
  Shape index(view.shape.size(), 0);
  int64_t at = view.offset;
  for (int64_t i = 0; i < copy.size(); ++i) {
    std::memcpy(copy.mutable_bytes().data() + static_cast<size_t>(i) * width,
                base.bytes().data() + static_cast<size_t>(at) * width, width);
    for (size_t d = index.size(); d-- > 0;) {
      at += view.strides[d];
      if (++index[d] < view.shape[d]) break;
      at -= view.strides[d] * view.shape[d];
      index[d] = 0;
    }
  }
  TAPML_ASSIGN(Tensor tensor, upload(session, copy));
  return Value(std::move(tensor));
}

bool has_view(const Value& value) {
  if (value.view()) return true;
  const ValueList* fields = value.tuple();
  return fields && std::any_of(fields->begin(), fields->end(), has_view);
}

}  // namespace

Result<Value> storage_operation(StorageAction action, const Value& of,
                                std::span<const Value* const> operands,
                                std::span<const int32_t> axes) noexcept {
  View view = placed(of);
  if (!view.base.storage) {
    return fail(
        user_error("the value to write or view is not a tensor", "", "a tensor", describe(of)));
  }
  switch (action) {
    case StorageAction::kReshape:
      return reshape(std::move(view), of, *operands[0]);
    case StorageAction::kSlice:
      return slice(std::move(view), of, *operands[0], *operands[1]);
    case StorageAction::kTranspose:
      return transpose(std::move(view), axes);
    case StorageAction::kBase:
      return Value(std::move(view.base));
    case StorageAction::kLayout:
      return layout(view);
    case StorageAction::kIsTensor:
      return Value(Prim{DType::kBool, of.tensor() ? 1 : 0});
    case StorageAction::kCheckAssign:
      return check_assign(view, of, *operands[0]);
  }
  return fail(internal_error("an unknown operation on storage"));
}

Result<Value> without_views(const Value& value, Session& session) noexcept {
  if (!has_view(value)) return value;
  if (const View* view = value.view()) return compact(*view, session);
  auto fields = std::make_shared<ValueList>();
  fields->nesting = value.tuple()->nesting;
  for (const Value& field : *value.tuple()) {
    TAPML_ASSIGN(Value own, without_views(field, session));
    fields->push_back(std::move(own));
  }
  Value result;
  result.data = std::shared_ptr<const ValueList>(std::move(fields));
  return result;
}

}  // namespace tapml::runtime
