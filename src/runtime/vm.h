// The virtual machine: runs an executable's functions on one session.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct ValueList;
struct Closure;

// A host scalar: an integer or a truth value (1 or 0).
struct Prim {
  DType dtype = DType::kI64;
  int64_t value = 0;
  bool operator==(const Prim&) const = default;
};

// Elements of a tensor that do not lie together: what only the machine itself meets. Kernels,
// packed functions and the caller of the machine get tensors of their own.
struct View {
  Tensor base;         // a vector
  int64_t offset = 0;  // of the first element in it
  Shape shape, strides;
};

// What a register holds.
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
  int32_t nesting = 1;  // tuples and function values in tuples and function values
};

// A function value: a function of the executable with its first arguments.
struct Closure {
  const VmFunction* function = nullptr;
  ValueList captured;
};

// What a packed call runs on the host. Arguments and result are values of the machine; tensors live
// on its session, where their bytes may still be on the way (download() waits). Must not throw, and
// must not call the machine that calls it.
using HostFunction = std::function<Result<Value>(Session&, std::span<const Value>)>;
using HostFunctions = std::map<std::string, HostFunction>;  // by the name of the call

class VirtualMachine {
 public:
  // A UserError names the first packed function of the executable that `functions` lacks.
  static Result<std::unique_ptr<VirtualMachine>> create(
      Session& session, std::shared_ptr<const Executable> executable,
      HostFunctions functions = {}) noexcept;
  ~VirtualMachine();

  // Calls a function of the executable. Arguments are checked against its signature: a UserError
  // names function, parameter, dimension, the expected expression with its value, and what came.
  // Errors of a run say in `where` which functions and bindings were in progress, innermost first.
  // Only enqueues; the result's bytes are there once they are read (download).
  Result<Value> call(std::string_view function, std::span<const Value> args) noexcept;

  // Calls end with kCancelled once the flag is set; null: never. It must outlive the machine.
  void set_interrupt(const std::atomic<bool>* flag);
  // A run ends with kLimit when it calls functions of the executable more often, tail calls
  // included; at first there is no limit.
  void set_call_limit(int64_t calls);

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
