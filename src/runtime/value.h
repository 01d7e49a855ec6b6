// VM values: the contents of registers, and the arguments and results of functions.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "runtime/tensor.h"

namespace tapml::runtime {

struct ValueList;
struct Closure;

// A host scalar: an integer or a bool (1 or 0).
struct Prim {
  DType dtype = DType::kI64;
  int64_t value = 0;
  bool operator==(const Prim&) const = default;
};

// A tensor with non-contiguous elements, internal to the VM. Kernels, packed functions and the VM's
// caller get new tensors instead.
struct View {
  Tensor base;         // a vector
  int64_t offset = 0;  // of the first element in it
  Shape shape, strides;
};

// The contents of a register.
struct Value {
  std::variant<std::monostate, Tensor, Shape, std::shared_ptr<Storage>,
               std::shared_ptr<const ValueList>, Prim, std::shared_ptr<const Closure>,
               std::shared_ptr<const View>>
      data;

  Value() = default;
  Value(Tensor tensor) : data(std::move(tensor)) {}  // NOLINT
  Value(Shape shape) : data(std::move(shape)) {}     // NOLINT
  Value(Prim prim) : data(prim) {}                   // NOLINT
  const Prim* prim() const { return std::get_if<Prim>(&data); }
  const Closure* closure() const {
    auto* closure = std::get_if<std::shared_ptr<const Closure>>(&data);
    return closure ? closure->get() : nullptr;
  }
  const View* view() const {
    auto* view = std::get_if<std::shared_ptr<const View>>(&data);
    return view ? view->get() : nullptr;
  }
  const Tensor* tensor() const { return std::get_if<Tensor>(&data); }
  const Shape* shape() const { return std::get_if<Shape>(&data); }
  const ValueList* tuple() const {
    auto* list = std::get_if<std::shared_ptr<const ValueList>>(&data);
    return list ? list->get() : nullptr;
  }
};

// The fields of a tuple.
struct ValueList : std::vector<Value> {
  using std::vector<Value>::vector;
  int32_t nesting = 1;  // nesting depth of tuples and function values
};

// A function value: a function of the executable with its first arguments.
struct Closure {
  const VmFunction* function = nullptr;
  ValueList captured;
};

}  // namespace tapml::runtime
