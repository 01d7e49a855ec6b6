// Tensor programs of operators and of fused operators, with their references, for tests of
// schedules and of code generation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "arith/evaluate.h"
#include "base/rng.h"
#include "interp/interpreter.h"
#include "op/operator.h"
#include "passes/dead_code.h"
#include "passes/fuse_ops.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "support/within_bounds.h"

namespace tapml::testing {

// Values of symbolic variables, by name.
using Sizes = std::map<std::string, int64_t>;
// Sets the elements of one input.
using Fill = std::function<void(HostTensor&, const Sizes&)>;

// Uniform in [low, high); integers from it.
inline Fill uniform(double low, double high) {
  return [low, high](HostTensor& tensor, const Sizes&) {
    RandomStream stream(7, std::string(dtype_name(tensor.dtype())) +
                               shape_to_string(tensor.shape()) + std::to_string(low));
    for (int64_t i = 0; i < tensor.size(); ++i) {
      double value = low + (high - low) * stream.unit();
      tensor.set_f64(i, is_float(tensor.dtype()) ? value : std::floor(value));
    }
  };
}

inline Fill values(std::vector<double> elements) {
  return [elements = std::move(elements)](HostTensor& tensor, const Sizes&) {
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set_f64(i, elements[static_cast<size_t>(i) % elements.size()]);
    }
  };
}

// One kernel, its reference function, and the sizes to run it at.
struct KernelProgram {
  std::string name;
  Module module;
  std::string reference;  // function of `module`
  tir::PrimFuncRef func;
  std::vector<Fill> fills;  // of the kernel's tensor inputs
  std::vector<Sizes> sizes;

  int64_t extent(const PrimExpr& dim, const Sizes& at) const {
    arith::Values values;
    for (const Var& var : func->scalars) values[var.get()] = at.at(var->name);
    return *arith::evaluate(dim, values);
  }

  std::vector<int64_t> scalars(const Sizes& at) const {
    std::vector<int64_t> result;
    for (const Var& var : func->scalars) result.push_back(at.at(var->name));
    return result;
  }

  // One tensor per parameter; tensors that are only written hold garbage.
  std::vector<HostTensor> arguments(const Sizes& at) const {
    std::vector<HostTensor> result;
    for (size_t i = 0; i < func->params.size(); ++i) {
      const tir::Param& param = func->params[i];
      Shape shape;
      for (const PrimExpr& dim : param.buffer->shape) shape.push_back(extent(dim, at));
      HostTensor tensor = HostTensor::zeros(param.buffer->dtype, shape);
      if (param.mode == AccessMode::kOut) {
        for (std::byte& byte : tensor.mutable_bytes()) byte = std::byte{0x7f};
      } else {
        fills.at(i)(tensor, at);
      }
      result.push_back(std::move(tensor));
    }
    return result;
  }

  std::vector<op::RefTensor> expected(const std::vector<HostTensor>& arguments,
                                      const Sizes& at) const {
    const relax::Function& spec = *relax::as_relax_function(module.find(reference));
    std::vector<interp::Value> args;
    for (size_t i = 0; i < spec.params.size(); ++i) {
      const auto* shape = relax::as_shape(spec.params[i]->annotation);
      if (!shape) {
        args.push_back(interp::Value::tensor(op::RefTensor::from(arguments[i])));
        continue;
      }
      std::vector<int64_t> dims;
      for (const PrimExpr& dim : *shape->dims) dims.push_back(at.at(dim->name));
      args.push_back(interp::Value::shape(dims));
    }
    interp::Value value = interp::call(module, reference, args);
    if (std::holds_alternative<op::RefTensor>(value.data)) return {value.as_tensor()};
    std::vector<op::RefTensor> outputs;
    for (const interp::Value& field : value.as_tuple()) outputs.push_back(field.as_tensor());
    return outputs;
  }

  std::string label(const Sizes& at) const {
    std::string text = name + " at";
    for (const auto& [symbol, value] : at) text += " " + symbol + "=" + std::to_string(value);
    return text;
  }
};

// Checks that each written tensor of `found` (all parameters) is within the bounds of `expected`;
// reports the first element that is not. Returns whether all are.
inline bool expect_within_bounds(const KernelProgram& kernel, const Sizes& at,
                                 const std::vector<HostTensor>& found,
                                 const std::vector<op::RefTensor>& expected,
                                 const OpenElements& open = {}) {
  size_t output = 0;
  for (size_t p = 0; p < found.size(); ++p) {
    if (kernel.func->params[p].mode == AccessMode::kIn) continue;
    const op::RefTensor& reference = expected.at(output++);
    if (auto problem = outside_bound(found[p], reference, open)) {
      ADD_FAILURE() << kernel.label(at) << ": parameter " << p << " " << *problem;
      return false;
    }
  }
  EXPECT_EQ(output, expected.size()) << kernel.label(at);
  return true;
}

// Builds a KernelProgram from operator calls.
class KernelMaker {
 public:
  explicit KernelMaker(std::string name) { kernel_.name = std::move(name); }

  relax::Variable param(Dims shape, DType dtype, Fill fill = uniform(-2, 2)) {
    auto annotation = relax::tensor_annotation(std::move(shape), dtype);
    params_.push_back(
        relax::make_variable("x" + std::to_string(params_.size()), std::move(annotation)));
    kernel_.fills.push_back(std::move(fill));
    return params_.back();
  }
  // Symbolic variables that no tensor's shape determines.
  void symbols(std::vector<Var> vars) { symbols_ = std::move(vars); }

  relax::Variable op(const std::string& name, std::vector<relax::Expr> args, AttrMap attrs = {}) {
    relax::Expr call = relax::make_op_call(name, std::move(args), std::move(attrs));
    relax::Variable var = relax::make_variable("v" + std::to_string(block_.bindings.size()),
                                               op::deduce(*relax::as<relax::CallNode>(call)), true);
    block_.bindings.push_back({var, call, nullptr, {}});
    return var;
  }

  // The kernel of the only call, directly from the operator's rule.
  KernelProgram single(std::vector<Sizes> sizes) {
    const relax::Binding& binding = block_.bindings.at(0);
    op::CallView view = op::view_call(*relax::as<relax::CallNode>(binding.value));
    finish();
    kernel_.reference = "main";
    kernel_.func = view.info.legalize(view);
    kernel_.sizes = std::move(sizes);
    return std::move(kernel_);
  }

  // The single kernel that fusion makes of all calls.
  KernelProgram fused(std::vector<Sizes> sizes) {
    finish();
    for (auto* pass : {passes::legalize, passes::annotate_patterns, passes::fuse_ops,
                       passes::fuse_tensor_ir, passes::eliminate_dead_code}) {
      kernel_.module = pass(kernel_.module);
    }
    int kernels = 0;
    for (const auto& [name, function] : kernel_.module.functions) {
      if (!passes::is_kernel(function.get())) continue;
      kernel_.reference = name;
      ++kernels;
    }
    EXPECT_EQ(kernels, 1) << kernel_.name;
    kernel_.func = std::make_shared<tir::PrimFunc>(
        passes::kernel_implementation(kernel_.module, kernel_.reference));
    kernel_.sizes = std::move(sizes);
    return std::move(kernel_);
  }

 private:
  void finish() {
    if (!symbols_.empty()) {
      params_.push_back(relax::make_variable(
          "s", relax::shape_annotation(Dims(symbols_.begin(), symbols_.end()))));
    }
    block_.dataflow = true;
    relax::Variable result = block_.bindings.back().var;
    kernel_.module.functions["main"] =
        relax::make_function(params_, relax::make_seq({block_}, result), result->annotation);
  }

  KernelProgram kernel_;
  std::vector<relax::Variable> params_;
  std::vector<Var> symbols_;
  relax::Block block_;
};

// Factors whose products stay within the range of f16: outside of it, any result is right.
inline Fill near_one() { return uniform(0.9, 1.1); }

// The kernel of one operator.
inline KernelProgram operator_program(const char* op,
                                      const std::vector<std::pair<Dims, DType>>& inputs,
                                      std::vector<Sizes> sizes, AttrMap attrs = {},
                                      const Fill& fill = uniform(-2, 2)) {
  KernelMaker maker(op);
  std::vector<relax::Expr> params;
  for (const auto& [shape, dtype] : inputs) params.push_back(maker.param(shape, dtype, fill));
  maker.op(op, params, std::move(attrs));
  return maker.single(std::move(sizes));
}

}  // namespace tapml::testing
