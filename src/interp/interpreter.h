// The judge: evaluates graph-level functions at operator level in f64 with running error bounds,
// and tensor programs in the program's own dtypes, with running bounds where they are judged. It
// shares no code with legalization.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "op/operator.h"

namespace tapml::interp {

struct Value;
using ValueList = std::vector<Value>;

// A run-time value of the graph level.
struct Value {
  std::variant<op::RefTensor, std::vector<int64_t>, int64_t, std::shared_ptr<const ValueList>> data;

  static Value tensor(op::RefTensor tensor) { return {std::move(tensor)}; }
  static Value shape(std::vector<int64_t> dims) { return {std::move(dims)}; }
  static Value tuple(ValueList fields);
  const op::RefTensor& as_tensor() const { return std::get<op::RefTensor>(data); }
  const std::vector<int64_t>& as_shape() const { return std::get<std::vector<int64_t>>(data); }
  const ValueList& as_tuple() const { return *std::get<std::shared_ptr<const ValueList>>(data); }
};

enum class KernelBody {
  kSpec,   // call_tir evaluates the kernel's operators: the judge
  kLoops,  // call_tir evaluates the implementation's tensor program, in the program's dtypes
};

// Calls `function` of `module`. Arguments are checked against the signature (rank, dtype, constant
// and symbolic dimensions): UserError that names function, parameter, dimension, expected, found.
// `wanted` (one flag an element of the result) lets costly operators leave out what nobody looks
// at: it goes to every operator whose result has as many elements.
Value call(const Module& module, const std::string& function, const std::vector<Value>& args,
           KernelBody body = KernelBody::kSpec, const std::vector<uint8_t>& wanted = {});

// Runs a tensor program on host tensors, one per parameter (out and inout ones are written).
// Every step is rounded to the expression's dtype; an index out of range is an InternalError.
void run_prim_func(const tir::PrimFunc& func, std::vector<HostTensor>& params,
                   const std::vector<int64_t>& scalars);

// The same as a judge: every float in f64 with a running bound on what the program's own dtypes and
// any order of its sums may make of it (docs/verdicts.md). Parameters in their order; out and inout
// ones are written.
void judge_prim_func(const tir::PrimFunc& func, std::vector<op::RefTensor>& params,
                     const std::vector<int64_t>& scalars);

}  // namespace tapml::interp
