// The reference: evaluates graph-level functions at operator level in f64 with running error
// bounds, and tensor programs in the program's own dtypes, on request with running bounds. It
// shares no code with legalization.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/work.h"
#include "op/operator.h"

namespace tapml::interp {

struct Value;
using ValueList = std::vector<Value>;
struct Closure;  // item.h

// A host scalar of another dtype than i64.
struct Scalar {
  DType dtype = DType::kBool;
  int64_t integer = 0;  // of integers and bools
  double number = 0;    // of floats
};

// A function as a value: one of the Module by name, or what a call returned.
struct FunctionValue {
  std::string name;
  std::shared_ptr<const Closure> closure;  // null for a function of the Module
};

// A run-time value of the graph level.
struct Value {
  std::variant<op::RefTensor, std::vector<int64_t>, int64_t, std::shared_ptr<const ValueList>,
               Scalar, FunctionValue>
      data;

  static Value tensor(op::RefTensor tensor) { return {std::move(tensor)}; }
  static Value shape(std::vector<int64_t> dims) { return {std::move(dims)}; }
  static Value tuple(ValueList fields);
  static Value prim(int64_t value) { return {value}; }
  static Value scalar(Scalar scalar);  // of any dtype
  static Value function(std::string name) { return {FunctionValue{std::move(name), nullptr}}; }
  const op::RefTensor& as_tensor() const { return std::get<op::RefTensor>(data); }
  const std::vector<int64_t>& as_shape() const { return std::get<std::vector<int64_t>>(data); }
  const ValueList& as_tuple() const { return *std::get<std::shared_ptr<const ValueList>>(data); }
};

// Packed functions by name, for calls of `extern "name"(...)`. They may throw compiler exceptions.
using HostFunctions = std::map<std::string, std::function<Value(const ValueList& args)>>;

enum class KernelBody {
  kSpec,   // call_tir evaluates the kernel's operators: the reference
  kLoops,  // call_tir evaluates the implementation's tensor program, in the program's dtypes
};

struct CallOptions {
  KernelBody body = KernelBody::kSpec;
  // One flag per element of the result: costly operators may skip elements that are not wanted. It
  // is passed to every operator whose result has as many elements.
  std::vector<uint8_t> wanted;
  // How every operator rounds its products (RefTensor): exactly, but where a cause of imprecision
  // is tried.
  op::ProductRounding products;
  // What the errors of every operator have besides honest rounding (RefTensor).
  Allowances allowed;
  // The threads that costly operators use, with the same result for any number; null: those that
  // all calls share, one for each core.
  ThreadPool* threads = nullptr;
  HostFunctions packed;
  // Maximum number of consecutive tail calls: more are considered an endless loop.
  int64_t max_tail_calls = 1'000'000;
  // Maximum total number of function calls, including every iteration of a loop; 0 for no limit.
  int64_t max_calls = 0;
  // Maximum number of elements of a new tensor: a value and a bound of 8 bytes each, so 32 GiB.
  int64_t max_elements = int64_t{1} << 31;
  // Called for every binding and periodically by loops; an exception ends the call.
  std::function<void()> poll;
  // Receives the number of evaluated bindings of the called function; functions that a binding
  // calls count as part of it.
  WorkWatcher watcher;
  // Called with each binding of the called function whose value is a tensor, branches included. The
  // tensor is valid during the call only.
  std::function<void(const relax::Binding& binding, const op::RefTensor& value)> observe;
};

// Calls `function` of `module`. Checks arguments, results, match_casts and annotations of bindings
// (kind, rank, dtype, constant and symbolic dimensions): a UserError names the location ("parameter
// x of main", "match_cast y of main", "result of main"), the dimension, and the expected and found
// values. Tail calls use no stack.
Value call(const Module& module, const std::string& function, const std::vector<Value>& args,
           const CallOptions& options);
Value call(const Module& module, const std::string& function, const std::vector<Value>& args,
           KernelBody body = KernelBody::kSpec, const std::vector<uint8_t>& wanted = {});

// Runs a tensor program on host tensors, one per parameter (out and inout ones are written). Every
// step is rounded to the expression's dtype; an index out of range is an InternalError. `poll` is
// called periodically.
void run_prim_func(const tir::PrimFunc& func, std::vector<HostTensor>& params,
                   const std::vector<int64_t>& scalars, const std::function<void()>& poll = {});

// Evaluates it as a reference: every float in f64 with a running bound on the effect of the
// program's own dtypes and of any order of its sums, with the deviations of their own order, and of
// what is `allowed` (docs/verdicts.md). Parameters are in order; out and inout ones are written.
void evaluate_with_bounds(const tir::PrimFunc& func, std::vector<op::RefTensor>& params,
                          const std::vector<int64_t>& scalars,
                          const std::function<void()>& poll = {}, const Allowances& allowed = {});

}  // namespace tapml::interp
