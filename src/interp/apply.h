// Applies one operator or tensor program to values.
#pragma once

#include "interp/item.h"

namespace tapml::interp {

// Members of CallOptions of the same names, mostly by reference.
struct ApplyLimits {
  int64_t max_elements;
  const std::function<void()>& poll;
  const std::vector<uint8_t>& wanted;
  op::ProductRounding products;
  Allowances allowed;
  ThreadPool& threads;
};

// Evaluates the reference of the operator that `node` calls on `items` in place of its operands.
// Outputs that the operator updates start as a copy of their argument. UserError if deduction
// rejects the call and for tensors above limits.max_elements.
Item apply_operator(const relax::CallNode& node, const std::vector<Item>& items,
                    const ApplyLimits& limits);

// Runs a tensor program. `args` are the in and inout parameters in order, `symbols` the scalars
// that no dimension of them gives. Output j is argument inout[j] if that is not negative, else the
// next out parameter; one output is returned directly, several as a tuple. `with_bounds`: in f64
// with bounds, else in the program's dtypes. UserError for arguments that do not fit the signature.
Item apply_program(const tir::PrimFunc& func, const std::string& name,
                   const std::vector<Item>& args, const std::vector<int64_t>& symbols,
                   std::vector<int64_t> inout, bool with_bounds, const ApplyLimits& limits);

}  // namespace tapml::interp
