#include "relax/storage.h"

#include <algorithm>

#include "ir/exceptions.h"

namespace tapml::relax {

namespace {

struct Entry {
  const char* name;
  StorageOp op;
  size_t operands;
};
constexpr Entry kEntries[] = {
    {"assign", StorageOp::kAssign, 2},
    {"assign_slice", StorageOp::kAssignSlice, 3},
    {"view_reshape", StorageOp::kViewReshape, 2},
    {"view_slice", StorageOp::kViewSlice, 3},
    {"view_transpose", StorageOp::kViewTranspose, 1},
    {"storage.base", StorageOp::kBase, 1},
    {"storage.layout", StorageOp::kLayout, 1},
    {"storage.is_tensor", StorageOp::kIsTensor, 1},
    {"storage.check_assign", StorageOp::kCheckAssign, 2},
};

const Entry* find(const CallNode& call) {
  const auto* op = as<OperatorNode>(call.callee);
  if (!op) return nullptr;
  for (const Entry& entry : kEntries) {
    if (op->name == entry.name) return &entry;
  }
  return nullptr;
}

[[noreturn]] void refuse(const Entry& entry, size_t operand, const std::string& expected,
                         const Annotation& found) {
  throw_user(
      std::string(entry.name) + ": operand " + std::to_string(operand) + " is not what it takes",
      "", expected, to_string(found));
}

using TensorRef = std::shared_ptr<const TensorAnnotation>;

// The operand's annotation as a tensor's; null if it is Object. Shared, because a constant's
// annotation is temporary.
TensorRef tensor_operand(const Entry& entry, const CallNode& call, size_t i) {
  Annotation found = annotation_of(call.args[i]);
  if (found->kind == AnnotationKind::kObject) return nullptr;
  if (!as_tensor(found)) refuse(entry, i, "a tensor", found);
  return std::static_pointer_cast<const TensorAnnotation>(found);
}

Annotation shape_operand(const Entry& entry, const CallNode& call, size_t i) {
  Annotation found = annotation_of(call.args[i]);
  if (found->kind == AnnotationKind::kObject) return shape_annotation_ndim();
  if (!as_shape(found)) refuse(entry, i, "a shape", found);
  return found;
}

Annotation of_shape(const Annotation& shape, std::optional<DType> dtype) {
  const auto* known = as_shape(shape);
  return known->dims ? tensor_annotation(*known->dims, dtype)
                     : tensor_annotation_ndim(known->ndim, dtype);
}

Annotation transposed(const Entry& entry, const CallNode& call, const TensorRef& tensor) {
  const auto* axes = find_attr<std::vector<int64_t>>(call.attrs, "axes");
  if (!axes) throw_user("view_transpose: the attribute axes is missing", "", "a list of axes");
  std::vector<int64_t> sorted = *axes;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) {
      throw_user("view_transpose: the attribute axes is not a permutation", "",
                 "each axis from 0 on once");
    }
  }
  const int ndim = static_cast<int>(axes->size());
  if (!tensor) return tensor_annotation_ndim(ndim, std::nullopt);
  if (tensor->ndim != kUnknownNdim && tensor->ndim != ndim) {
    refuse(entry, 0, "a tensor with " + std::to_string(ndim) + " dimensions",
           annotation_of(call.args[0]));
  }
  if (!tensor->shape) return tensor_annotation_ndim(ndim, tensor->dtype);
  Dims dims;
  for (int64_t axis : *axes) dims.push_back((*tensor->shape)[static_cast<size_t>(axis)]);
  return tensor_annotation(std::move(dims), tensor->dtype);
}

}  // namespace

StorageOp storage_op(const CallNode& call) {
  const Entry* entry = find(call);
  return entry ? entry->op : StorageOp::kNone;
}

StorageOp storage_op(const Expr& expr) {
  const auto* call = as<CallNode>(expr);
  return call ? storage_op(*call) : StorageOp::kNone;
}

bool is_write(StorageOp op) { return op == StorageOp::kAssign || op == StorageOp::kAssignSlice; }

bool is_storage_view(StorageOp op) {
  return op == StorageOp::kViewReshape || op == StorageOp::kViewSlice ||
         op == StorageOp::kViewTranspose || op == StorageOp::kBase;
}

bool is_storage_question(StorageOp op) {
  return op == StorageOp::kBase || op == StorageOp::kLayout || op == StorageOp::kIsTensor ||
         op == StorageOp::kCheckAssign;
}

Annotation deduce_storage_op(const CallNode& call) {
  const Entry& entry = *find(call);
  if (call.args.size() != entry.operands) {
    throw_user(std::string(entry.name) + ": wrong number of operands", "",
               std::to_string(entry.operands), std::to_string(call.args.size()));
  }
  const TensorRef tensor = tensor_operand(entry, call, 0);
  std::optional<DType> dtype = tensor ? tensor->dtype : std::nullopt;
  if (is_write(entry.op)) {
    const TensorRef source = tensor_operand(entry, call, 1);
    if (tensor && source) {
      bool fits = (!tensor->dtype || !source->dtype || tensor->dtype == source->dtype) &&
                  (tensor->ndim == kUnknownNdim || source->ndim == kUnknownNdim ||
                   tensor->ndim == source->ndim);
      if (!fits)
        refuse(entry, 1, to_string(annotation_of(call.args[0])), annotation_of(call.args[1]));
    }
    if (entry.op == StorageOp::kAssignSlice) shape_operand(entry, call, 2);
    return tuple_annotation({});
  }
  switch (entry.op) {
    case StorageOp::kViewTranspose:
      return transposed(entry, call, tensor);
    case StorageOp::kBase:
      return tensor_annotation_ndim(1, dtype);
    case StorageOp::kLayout:
      return tensor && tensor->ndim != kUnknownNdim ? shape_annotation_ndim(tensor->ndim + 1)
                                                    : shape_annotation_ndim();
    case StorageOp::kIsTensor:
      return prim_annotation(DType::kBool);
    case StorageOp::kCheckAssign:
      tensor_operand(entry, call, 1);
      return tuple_annotation({});
    default:
      break;
  }
  for (size_t i = 1; i < call.args.size(); ++i) shape_operand(entry, call, i);
  return of_shape(shape_operand(entry, call, call.args.size() - 1), dtype);
}

}  // namespace tapml::relax
