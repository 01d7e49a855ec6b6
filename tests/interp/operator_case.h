// Runs one operator call twice: its tensor program in the program's dtypes, its reference in f64.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "interp/interpreter.h"
#include "support/within_bounds.h"

namespace tapml::testing {

// An argument of the call: a tensor, the integers of a shape, or a tuple of tensors.
using Argument = std::variant<HostTensor, std::vector<int64_t>, std::vector<HostTensor>>;

struct OperatorCase {
  std::string op;
  std::vector<Argument> args;
  AttrMap attrs;
  OpenElements open = {};
};

// Uniform floats in [low, high) (or integers from it) from a named stream.
HostTensor random_tensor(DType dtype, Shape shape, const std::string& name, double low = -1,
                         double high = 1);
HostTensor tensor_of(DType dtype, Shape shape, const std::vector<double>& values);

// Outputs of the reference.
std::vector<op::RefTensor> run_reference(const OperatorCase& test);
// Outputs of the legalized program; with `symbolic`, every dimension other than 1 is a variable,
// the same for equal extents.
std::vector<HostTensor> run_legalized(const OperatorCase& test, bool symbolic);

// Returned after a failure.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Both agree within the bounds, element by element, with constant and with symbolic shapes. Returns
// the largest ratio of error to bound.
double expect_within_bounds(const OperatorCase& test);

}  // namespace tapml::testing
