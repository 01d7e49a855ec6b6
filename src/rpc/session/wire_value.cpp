#include "rpc/session/wire_value.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "rpc/session/argument_cache.h"
#include "tensor/host_tensor.h"

namespace tapml::rpc {

using runtime::Prim;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueList;

namespace {

// Limit on nested tuples, within the verifier's kMaxDepth.
constexpr int kMaxNesting = 48;
static_assert(kMaxNesting + 8 < kMaxDepth);
// Limit on the dimensions of a tensor or a shape.
constexpr size_t kMaxIntegers = 1 << 16;
// The same for a value that is an argument: a copy of it takes no memory of its own.
constexpr size_t kMostRecalled = ArgumentCache::kMostDimensions;
// Limit on fields for which memory is reserved in advance.
constexpr size_t kMostReserved = 256;
// Limit on arguments that are searched for one tensor.
constexpr size_t kMostCompared = 256;

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && a.offset == b.offset && a.dtype == b.dtype && a.shape == b.shape;
}

class ValueWriter {
 public:
  ValueWriter(flatbuffers::FlatBufferBuilder& builder, const NameOf& name_of, const Where& where,
              std::span<const Value> arguments)
      : builder_(builder), name_of_(name_of), where_(where), arguments_(arguments) {}

  Result<flatbuffers::Offset<wire::Value>> write(const Value& value, int depth) {
    if (depth > kMaxNesting) {
      return fail(user_error("a value is nested too deeply for a remote VM", where_(),
                             "at most " + std::to_string(kMaxNesting) + " levels of tuples"));
    }
    if (const Tensor* tensor = value.tensor()) return write(*tensor);
    if (const Shape* shape = value.shape()) {
      const auto dims = builder_.CreateVector(*shape);
      return wire::CreateValue(builder_, wire::ValueKind::Shape, 0, 0, 0, dims);
    }
    if (const Prim* prim = value.prim()) {
      const auto number = builder_.CreateVector(&prim->value, 1);
      return wire::CreateValue(builder_, wire::ValueKind::Prim, static_cast<uint8_t>(prim->dtype),
                               0, 0, number);
    }
    if (const ValueList* fields = value.tuple()) {
      std::vector<flatbuffers::Offset<wire::Value>> list;
      list.reserve(fields->size());
      for (const Value& field : *fields) {
        TAPML_ASSIGN(const auto offset, write(field, depth + 1));
        list.push_back(offset);
      }
      return wire::CreateValue(builder_, wire::ValueKind::Tuple, 0, 0, 0, 0,
                               builder_.CreateVector(list));
    }
    if (std::holds_alternative<std::monostate>(value.data)) {
      return wire::CreateValue(builder_, wire::ValueKind::Nothing);
    }
    return fail(user_error(
        "only tensors, shapes, scalars and tuples can be passed to and from a remote VM", where_(),
        "one of these", value.closure() ? "a function value" : "something else"));
  }

 private:
  Result<flatbuffers::Offset<wire::Value>> write(const Tensor& tensor) {
    if (const auto place = find_argument(tensor)) {
      return wire::CreateValue(builder_, wire::ValueKind::Argument, 0, 0,
                               static_cast<int64_t>(*place));
    }
    TAPML_ASSIGN(const uint64_t name, name_of_(tensor.storage));
    const auto dims = builder_.CreateVector(tensor.shape.data(), tensor.shape.size());
    return wire::CreateValue(builder_, wire::ValueKind::Tensor, static_cast<uint8_t>(tensor.dtype),
                             name, tensor.offset, dims);
  }

  // Results usually follow the order of the arguments, so the next one is tried first.
  std::optional<size_t> find_argument(const Tensor& tensor) {
    if (tensor.shape.size() > kMostRecalled) return {};
    for (size_t i = 0; i < std::min(arguments_.size(), kMostCompared); ++i) {
      const size_t place = (next_ + i) % arguments_.size();
      const Tensor* argument = arguments_[place].tensor();
      if (!argument || !same_tensor(*argument, tensor)) continue;
      next_ = place + 1;
      return place;
    }
    return {};
  }

  flatbuffers::FlatBufferBuilder& builder_;
  const NameOf& name_of_;
  const Where& where_;
  const std::span<const Value> arguments_;
  size_t next_ = 0;
};

Result<DType> dtype_of_wire(uint8_t number) {
  if (number > static_cast<uint8_t>(DType::kF64)) {
    return fail(protocol_error("a value has the unknown dtype " + std::to_string(number)));
  }
  return static_cast<DType>(number);
}

Result<Tensor> tensor_of_wire(const wire::Value& value, std::span<const int64_t> dims,
                              const StorageOf& storage_of) {
  Tensor tensor;
  TAPML_ASSIGN(tensor.dtype, dtype_of_wire(value.dtype()));
  TAPML_ASSIGN(tensor.storage, storage_of(value.buffer()));
  tensor.shape = dims;
  tensor.offset = value.offset();
  const auto count = checked_byte_count(tensor.dtype, dims);
  if (!count) return fail(protocol_error(count.error().message));
  const int64_t bytes = *count;
  const int64_t room = tensor.storage->bytes();
  if (tensor.offset < 0 || tensor.offset > room || bytes > room - tensor.offset) {
    return fail(protocol_error("a tensor of " + std::to_string(bytes) + " bytes at offset " +
                               std::to_string(tensor.offset) + " lies outside of its buffer of " +
                               std::to_string(room)));
  }
  return tensor;
}

Result<Value> value_of_wire(const wire::Value& value, const StorageOf& storage_of,
                            CopyBudget& copies, std::span<const Value> arguments, int depth) {
  if (depth > kMaxNesting) return fail(protocol_error("a value is nested too deeply"));
  std::vector<int64_t> integers;
  if (value.integers()) {
    if (value.integers()->size() > kMaxIntegers) {
      return fail(protocol_error("a value has too many dimensions"));
    }
    if (!copies.take(uint64_t{value.integers()->size()} * sizeof(int64_t))) {
      return fail(shared_parts_error());
    }
    integers.assign(value.integers()->begin(), value.integers()->end());
  }
  switch (value.kind()) {
    case wire::ValueKind::Nothing:
      return Value();
    case wire::ValueKind::Tensor: {
      TAPML_ASSIGN(Tensor tensor, tensor_of_wire(value, integers, storage_of));
      return Value(std::move(tensor));
    }
    case wire::ValueKind::Shape:
      return Value(Shape(integers.begin(), integers.end()));
    case wire::ValueKind::Prim: {
      if (integers.size() != 1) return fail(protocol_error("a scalar has no value"));
      Prim prim;
      TAPML_ASSIGN(prim.dtype, dtype_of_wire(value.dtype()));
      prim.value = integers[0];
      return Value(prim);
    }
    case wire::ValueKind::Tuple: {
      auto list = std::make_shared<ValueList>();
      if (value.fields()) list->reserve(std::min<size_t>(value.fields()->size(), kMostReserved));
      for (flatbuffers::uoffset_t i = 0; value.fields() && i < value.fields()->size(); ++i) {
        TAPML_ASSIGN(Value field, value_of_wire(*value.fields()->Get(i), storage_of, copies,
                                                arguments, depth + 1));
        if (const ValueList* inner = field.tuple()) {
          list->nesting = std::max(list->nesting, inner->nesting + 1);
        }
        list->push_back(std::move(field));
      }
      Value tuple;
      tuple.data = std::shared_ptr<const ValueList>(std::move(list));
      return tuple;
    }
    case wire::ValueKind::Argument: {
      const auto place = static_cast<uint64_t>(value.offset());
      const Tensor* tensor = place < arguments.size() ? arguments[place].tensor() : nullptr;
      if (!tensor || tensor->shape.size() > kMostRecalled) {
        return fail(
            protocol_error("a part of a result refers to an argument that is not a tensor"));
      }
      return arguments[place];
    }
    case wire::ValueKind::Cached:
      return fail(protocol_error("a value that is not an argument is marked as unchanged"));
  }
  return fail(protocol_error("a value has an unknown kind"));
}

}  // namespace

Result<flatbuffers::Offset<wire::Value>> put_value(flatbuffers::FlatBufferBuilder& builder,
                                                   const Value& value, const NameOf& name_of,
                                                   const Where& where,
                                                   std::span<const Value> arguments) {
  return ValueWriter(builder, name_of, where, arguments).write(value, 0);
}

Result<Value> get_value(const wire::Value& value, const StorageOf& storage_of, CopyBudget& copies,
                        std::span<const Value> arguments) {
  return value_of_wire(value, storage_of, copies, arguments, 0);
}

}  // namespace tapml::rpc
