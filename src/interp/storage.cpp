#include "interp/storage.h"

#include "ir/exceptions.h"

namespace tapml::interp {

using relax::StorageOp;

namespace {

std::vector<int64_t> compact_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Whether the elements are contiguous and in order.
bool lies_together(const Shape& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  bool together = true;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] == 1) continue;
    together &= strides[d] == expected;
    expected *= shape[d];
  }
  return together;
}

int64_t elements_of(const Shape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

// A tensor with its storage, which is the tensor itself if it is not a view.
Item placed(const Item& item) {
  if (item.kind != ItemKind::kTensor) {
    throw_user("the value to write or view is not a tensor", "", "a tensor", describe(item));
  }
  if (item.storage) return item;
  Item result = item;
  // The interpreter owns all tensors that are written.
  result.storage = std::const_pointer_cast<op::RefTensor>(item.tensor);
  result.strides = compact_strides(item.tensor->shape);
  return result;
}

// Calls f(element of the view, element of the storage).
template <class F>
void for_each(const Shape& shape, int64_t offset, const std::vector<int64_t>& strides, F&& f) {
  const int64_t count = elements_of(shape);
  std::vector<int64_t> index(shape.size(), 0);
  int64_t at = offset;
  for (int64_t i = 0; i < count; ++i) {
    f(static_cast<size_t>(i), static_cast<size_t>(at));
    for (size_t d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

Item view(const Item& of, Shape shape, int64_t offset, std::vector<int64_t> strides) {
  Item item;
  item.storage = of.storage;
  item.offset = offset;
  item.strides = std::move(strides);
  auto tensor = std::make_shared<op::RefTensor>();
  tensor->dtype = of.storage->dtype;
  tensor->shape = std::move(shape);
  item.tensor = std::move(tensor);
  refresh(item);
  return item;
}

// The part of a tensor that begins at `begin` and has `size` elements per dimension.
Item slice(const Item& of, const std::vector<int64_t>& begin, const Shape& size) {
  const Shape& shape = of.tensor->shape;
  bool inside = begin.size() == shape.size() && size.size() == shape.size();
  int64_t offset = of.offset;
  for (size_t d = 0; inside && d < shape.size(); ++d) {
    inside = begin[d] >= 0 && size[d] >= 0 && size[d] <= shape[d] && begin[d] <= shape[d] - size[d];
    if (inside) offset += begin[d] * of.strides[d];
  }
  if (!inside) {
    throw_user("a part of a tensor is out of bounds", "", "a part of " + describe(of),
               shape_to_string(size) + " from " + shape_to_string(begin));
  }
  return view(of, size, offset, of.strides);
}

void check_assign(const Item& target, const Item& source) {
  if (source.kind != ItemKind::kTensor || source.tensor->shape != target.tensor->shape ||
      source.tensor->dtype != target.storage->dtype) {
    throw_user("the assigned value does not have the shape and dtype of its target", "",
               describe(target), describe(source));
  }
}

void write(const Item& target, const Item& source) {
  check_assign(target, source);
  const op::RefTensor values = *source.tensor;  // a copy: it may share the storage
  op::RefTensor& storage = *target.storage;
  // Only the bound of a storage's elements is kept.
  storage.systematic = {};
  storage.deviation = {};
  for_each(values.shape, target.offset, target.strides, [&](size_t from, size_t to) {
    storage.values[to] = values.values[from];
    if (!storage.bound.empty()) storage.bound[to] = values.bound.empty() ? 0 : values.bound[from];
    if (!storage.integers.empty()) storage.integers[to] = values.integer(from);
  });
}

}  // namespace

void refresh(Item& item) {
  for (Item& field : item.fields) refresh(field);
  if (!item.storage) return;
  const op::RefTensor& storage = *item.storage;
  op::RefTensor shown = op::RefTensor::zeros(storage.dtype, item.tensor->shape);
  for_each(shown.shape, item.offset, item.strides, [&](size_t to, size_t from) {
    shown.values[to] = storage.values[from];
    if (!shown.bound.empty() && !storage.bound.empty()) shown.bound[to] = storage.bound[from];
    if (!shown.integers.empty()) shown.integers[to] = storage.integer(from);
  });
  item.tensor = std::make_shared<const op::RefTensor>(std::move(shown));
}

Item updated_views(const std::vector<int64_t>& inout, std::vector<Item>& args, Item result) {
  const bool single = inout.size() == 1;
  for (size_t j = 0; j < inout.size(); ++j) {
    if (inout[j] < 0 || static_cast<size_t>(inout[j]) >= args.size()) continue;
    Item& view = args[static_cast<size_t>(inout[j])];
    if (!view.storage) continue;
    Item& made = single ? result : result.fields.at(j);
    write(view, made);
    refresh(view);
    made = view;
  }
  return result;
}

Item call_storage(StorageOp op, const relax::CallNode& call, const std::vector<Item>& args) {
  Item target = placed(args[0]);
  const Shape shape = target.tensor->shape;
  const bool is_tensor = lies_together(shape, target.strides);
  switch (op) {
    case StorageOp::kAssign:
      write(target, args[1]);
      break;
    case StorageOp::kAssignSlice:
      if (args[1].kind != ItemKind::kTensor) {
        throw_user("the assigned value is not a tensor", "", "a tensor", describe(args[1]));
      }
      write(slice(target, args[2].ints, args[1].tensor->shape), args[1]);
      break;
    case StorageOp::kViewSlice:
      return slice(target, args[1].ints, args[2].ints);
    case StorageOp::kViewReshape: {
      if (!is_tensor) {
        throw_user("a view that is not compact cannot be reshaped", "",
                   "a tensor, or a view of whole rows of one", describe(args[0]));
      }
      if (elements_of(args[1].ints) != elements_of(shape)) {
        throw_user("the shape of a view has a different number of elements", "",
                   std::to_string(elements_of(shape)) + " elements", describe(args[1]));
      }
      return view(target, args[1].ints, target.offset, compact_strides(args[1].ints));
    }
    // A contiguous view counts as a tensor, as on devices, and is its own base.
    case StorageOp::kBase:
      if (is_tensor) return view(target, {elements_of(shape)}, target.offset, {1});
      return view(target, {static_cast<int64_t>(target.storage->values.size())}, 0, {1});
    case StorageOp::kLayout: {
      Item layout;
      layout.kind = ItemKind::kShape;
      layout.ints = is_tensor ? compact_strides(shape) : target.strides;
      layout.ints.insert(layout.ints.begin(), is_tensor ? 0 : target.offset);
      return layout;
    }
    case StorageOp::kIsTensor: {
      Item answer;
      answer.kind = ItemKind::kPrim;
      answer.dtype = DType::kBool;
      answer.ints = {is_tensor ? 1 : 0};
      return answer;
    }
    case StorageOp::kCheckAssign:
      check_assign(target, args[1]);
      break;
    default: {
      const auto* axes = find_attr<std::vector<int64_t>>(call.attrs, "axes");
      if (!axes || axes->size() != shape.size()) {
        throw_user("view_transpose needs an axis for each dimension of its tensor", "",
                   std::to_string(shape.size()) + " axes", std::to_string(axes ? axes->size() : 0));
      }
      Shape turned;
      std::vector<int64_t> strides;
      for (int64_t axis : *axes) {
        turned.push_back(shape[static_cast<size_t>(axis)]);
        strides.push_back(target.strides[static_cast<size_t>(axis)]);
      }
      return view(target, std::move(turned), target.offset, std::move(strides));
    }
  }
  Item nothing;
  nothing.kind = ItemKind::kTuple;
  return nothing;
}

}  // namespace tapml::interp
