// The virtual machine: runs an executable's functions on one session.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct Value;
using ValueList = std::vector<Value>;

// What a register holds.
struct Value {
  std::variant<std::monostate, Tensor, Shape, std::shared_ptr<Storage>,
               std::shared_ptr<const ValueList>>
      data;

  Value() = default;
  Value(Tensor tensor) : data(std::move(tensor)) {}  // NOLINT
  Value(Shape shape) : data(std::move(shape)) {}     // NOLINT
  const Tensor* tensor() const { return std::get_if<Tensor>(&data); }
  const Shape* shape() const { return std::get_if<Shape>(&data); }
  const ValueList* tuple() const {
    auto* list = std::get_if<std::shared_ptr<const ValueList>>(&data);
    return list ? list->get() : nullptr;
  }
};

class VirtualMachine {
 public:
  static Result<std::unique_ptr<VirtualMachine>> create(
      Session& session, std::shared_ptr<const Executable> executable) noexcept;
  ~VirtualMachine();

  // Calls a function of the executable. Arguments are checked against its signature: a UserError
  // names function, parameter, dimension, the expected expression with its value, and what came.
  // Only enqueues; the result's bytes are there once they are read (download).
  Result<Value> call(std::string_view function, std::span<const Value> args) noexcept;

  Session& session() const;
  const Executable& executable() const;
  KernelRunner& runner() const;
  CallPoint& call_point() const;
  const std::vector<CallSite>& call_sites() const;
  // Bytes of storage that the VM holds at most at once over its life.
  int64_t peak_bytes() const;

 private:
  VirtualMachine();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::runtime
