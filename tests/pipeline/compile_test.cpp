// Small programs through the whole pipeline, compared with the operators' references.
#include "pipeline/compile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/exceptions.h"
#include "op/operator.h"
#include "relax/visit.h"
#include "run_module.h"
#include "support/sessions.h"

namespace tapml {
namespace {

using namespace relax;  // NOLINT

using testing::random_tensor;

// A function of one dataflow block whose bindings are operator calls.
class ModuleMaker {
 public:
  Variable param(const std::string& name, Dims shape, DType dtype) {
    params_.push_back(make_variable(name, tensor_annotation(std::move(shape), dtype)));
    return params_.back();
  }
  Variable op(const std::string& name, std::vector<Expr> args, AttrMap attrs = {}) {
    Expr call = make_op_call(name, std::move(args), std::move(attrs));
    Variable var = make_variable("v" + std::to_string(block_.bindings.size()),
                                 op::deduce(*as<CallNode>(call)), true);
    block_.bindings.push_back({var, call, nullptr, {"layer." + name}});
    return var;
  }
  Module finish(const Expr& result) {
    block_.dataflow = true;
    Module module;
    module.functions["main"] =
        make_function(params_, make_seq({block_}, result), annotation_of(result));
    return module;
  }

 private:
  std::vector<Variable> params_;
  Block block_;
};

// The same operator calls evaluated by their references.
HostTensor by_references(const Module& module, const std::vector<HostTensor>& inputs) {
  const Function& main = *as_relax_function(module.find("main"));
  std::map<const VarNode*, op::RefTensor> values;
  VarMap symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[main.params[i].get()] = op::RefTensor::from(inputs[i]);
    const auto* tensor = as_tensor(main.params[i]->annotation);
    for (size_t d = 0; d < tensor->shape->size(); ++d) {
      symbols[(*tensor->shape)[d].get()] = inputs[i].shape()[d];
    }
  }
  for (const Binding& binding : body_of(main).blocks[0].bindings) {
    const auto& call = *as<CallNode>(binding.value);
    op::CallView view = op::view_call(call);
    std::vector<op::RefArg> args;
    for (const Expr& arg : call.args) {
      args.push_back(op::RefArg{.tensor = &values.at(as<VarNode>(arg))});
    }
    const auto* result = as_tensor(binding.var->annotation);
    Shape shape;
    for (const PrimExpr& dim : *result->shape) {
      shape.push_back(substitute(dim, symbols)->int_value);
    }
    std::vector<op::RefTensor> outputs = {op::RefTensor::zeros(*result->dtype, shape)};
    view.info.reference(view.attrs, args, outputs);
    values[binding.var.get()] = outputs[0];
  }
  return values.at(as<VarNode>(body_of(main).result)).to_host();
}

void expect_close(const HostTensor& got, const HostTensor& expected, double tolerance) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (int64_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got.at_f64(i), expected.at_f64(i), tolerance) << "element " << i;
  }
}

class Pipeline : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::open_session(GetParam())) GTEST_SKIP() << GetParam() << " is unavailable";
  }
  void check(const Module& module, const std::vector<HostTensor>& inputs, double tolerance) {
    auto found = testing::run_for_tensor(GetParam(), module, inputs, false);
    ASSERT_TRUE(found) << found.error().to_string();
    expect_close(*found, by_references(module, inputs), tolerance);
  }
};

TEST_P(Pipeline, MatmulOfAllTileTails) {
  for (int64_t rows : {0, 1, 3, 4, 5, 17}) {
    for (int64_t columns : {1, 4, 6, 33}) {
      ModuleMaker m;
      Var n = make_var("n");
      Variable x = m.param("x", {1, n, 40}, DType::kF32);
      Variable w = m.param("w", {columns, 40}, DType::kBF16);
      Module module = m.finish(m.op("matmul", {x, w}, {{"transpose_b", true}}));
      check(module,
            {random_tensor({1, rows, 40}, DType::kF32, 1),
             random_tensor({columns, 40}, DType::kBF16, 2)},
            1e-5);
    }
  }
}

TEST_P(Pipeline, Mlp) {
  ModuleMaker m;
  Var n = make_var("n");
  Variable x = m.param("x", {1, n, 24}, DType::kF32);
  Variable norm = m.param("norm", {24}, DType::kF32);
  Variable gate = m.param("gate", {50, 24}, DType::kF32);
  Variable down = m.param("down", {24, 50}, DType::kF32);
  Variable h = m.op("rms_norm", {x, norm}, {{"epsilon", 1e-5}});
  Variable g = m.op("silu", {m.op("matmul", {h, gate}, {{"transpose_b", true}})});
  Module module = m.finish(m.op("add", {x, m.op("matmul", {g, down}, {{"transpose_b", true}})}));
  check(module,
        {random_tensor({1, 7, 24}, DType::kF32, 1), random_tensor({24}, DType::kF32, 2),
         random_tensor({50, 24}, DType::kF32, 3), random_tensor({24, 50}, DType::kF32, 4)},
        1e-4);
}

TEST_P(Pipeline, ElementwiseMath) {
  for (const char* name : {"exp", "silu", "tanh", "sin", "cos", "sigmoid"}) {
    ModuleMaker m;
    Var n = make_var("n");
    Variable x = m.param("x", {n, 2100}, DType::kF32);
    Module module = m.finish(m.op(name, {x}));
    check(module, {random_tensor({2, 2100}, DType::kF32, 1)}, 1e-6);
  }
}

TEST_P(Pipeline, SoftmaxAndArgmax) {
  ModuleMaker m;
  Var n = make_var("n");
  Variable x = m.param("x", {n, 33}, DType::kF32);
  Module softmax = m.finish(m.op("softmax", {x}));
  check(softmax, {random_tensor({5, 33}, DType::kF32, 1)}, 1e-6);
  ModuleMaker a;
  Variable y = a.param("x", {n, 33}, DType::kF32);
  check(a.finish(a.op("argmax", {y})), {random_tensor({5, 33}, DType::kF32, 9)}, 0);
}

TEST(PipelineLimits, AreRefusedAtCompileTimeWherePossible) {
  ModuleMaker m;
  // One row: nothing to split.
  Variable x = m.param("x", {1, 1024}, DType::kF32);
  Module module = m.finish(m.op("exp", {x}));
  target::Target small = target::parse_target("opencl");
  small.description.limits.max_binding_bytes = 4095;
  try {
    pipeline::compile(module, small);
    FAIL() << "not refused";
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().fault, PlatformFault::kLimit);
    EXPECT_NE(e.error().message.find("4096 bytes"), std::string::npos) << e.what();
  }
  small.description.limits.max_binding_bytes = 4096;
  EXPECT_NO_THROW(pipeline::compile(module, small));
}

TEST(PipelinePasses, UnusedPatternsAreNotPrograms) {
  const Module module = testing::parse_input(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    y: Tensor((n,), f32) = exp(x)
    output y
  }
  return y
}
def pattern(x: Object) -> Object {pattern: true} {
  dataflow {
    y: Object = exp(x)
    output y
  }
  return y
})");
  pipeline::ImplementOptions options;
  options.instruments.verify = true;
  options.instruments.skip = {"match"};
  const auto executable = pipeline::compile(module, target::parse_target("null"), options);
  EXPECT_NE(executable->find_function("main"), nullptr);
  EXPECT_EQ(executable->find_function("pattern"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Platforms, Pipeline, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml
