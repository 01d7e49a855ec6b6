// Small graphs with structures that compilers are known to get wrong: wide unsigned arithmetic,
// constants made from tensors, integers in functions of real numbers, shapes taken from tensors.
#include <gtest/gtest.h>

#include "op/shapes.h"
#include "support/dtypes.h"
#include "support/generated_program.h"
#include "support/refusals.h"

namespace tapml::testing {
namespace {

using relax::Variable;
using Build = Variable (*)(build::FunctionBuilder& f, const std::vector<Variable>& x);

struct Graph {
  const char* name;
  std::vector<op::GeneratedTensor> inputs;
  Build build;
};

const std::vector<Graph> kGraphs = {
    {"u64 remainder of a quotient",
     {{kU64, {3, 5}, 0, 90}, {kU64, {5}, 0, 4}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       return f.emit_op("floor_mod", {x[0], f.emit_op("floor_divide", {x[0], x[1]})});
     }},
    {"negative ones of u64",
     {{kU64, {7}, 0, 9}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       return f.emit_op("negative", {f.emit_op("ones_like", {x[0]})});
     }},
    {"shift by a reshape to another's shape",
     {{kI32, {2, 6}, -99, 99}, {kI32, {12}, 0, 40}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable shape = f.emit_op("shape_of", {x[0]});
       return f.emit_op("left_shift", {x[0], f.emit_op("reshape", {x[1], shape})});
     }},
    {"full of another's shape",
     {{kF32, {4, 3}}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable shape = f.emit_op("shape_of", {x[0]});
       AttrMap attrs = {{"value", 0.1}, {"dtype", kF32}};
       return f.emit_op("subtract", {x[0], f.emit_op("full", {shape}, attrs)});
     }},
    {"zeros like a tensor, times it",
     {{kF32, {9, 4}}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable zeros = f.emit_op("zeros_like", {x[0]});
       Variable product = f.emit_op("multiply", {zeros, x[0]});
       return f.emit_op("add", {product, f.emit_op("exp", {x[0]})});
     }},
    {"functions of integers",
     {{kI16, {17}, -9, 9}, {kI32, {17}, -1, 1}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable sum = f.emit_op("add", {f.emit_op("tan", {x[0]}), f.emit_op("erf", {x[1]})});
       return f.emit_op("multiply", {sum, f.emit_op("asin", {x[1]})});
     }},
    {"cosh of large f64",
     {{kF64, {8}, 600, 720}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       return f.emit_op("cosh", {x[0]});
     }},
    {"round of f16 sums",
     {{kF16, {33}, -9, 9}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       return f.emit_op("round", {f.emit_op("square", {x[0]})});
     }},
    {"least of i16 sums",
     {{kI16, {5, 6}, 32000, 32767}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable sum = f.emit_op("add", {x[0], f.emit_op("ones_like", {x[0]})});
       return f.emit_op("min", {sum});
     }},
    {"mean of positions",
     {{kF32, {6, 31}}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable position = f.emit_op("argmax", {x[0]}, {{"axis", int64_t{1}}});
       return f.emit_op("mean", {f.emit_op("cast", {position}, {{"dtype", kF32}})});
     }},
    {"integer sums in a float product",
     {{kI32, {4, 5}, -50, 50}, {kF32, {5}}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable sum = f.emit_op("add", {x[0], x[0]});
       return f.emit_op("multiply", {f.emit_op("cast", {sum}, {{"dtype", kF32}}), x[1]});
     }},
    {"the same operand twice",
     {{kF32, {3, 16}}},
     [](build::FunctionBuilder& f, const std::vector<Variable>& x) {
       Variable ratio = f.emit_op("divide", {x[0], x[0]});
       return f.emit_op("log_softmax", {f.emit_op("subtract", {ratio, x[0]})});
     }},
};

class SmallGraphs : public ::testing::TestWithParam<const char*> {};

TEST_P(SmallGraphs, AgreeWithTheReference) {
  auto session = open_session(GetParam());
  if (!session) GTEST_SKIP() << GetParam() << " is unavailable";
  Module module;
  std::vector<GeneratedProgram> programs;
  for (const Graph& graph : kGraphs) {
    for (DimForm form : {DimForm::kStatic, DimForm::kSymbolic}) {
      RandomStream rng(1, graph.name);
      DimNames names(form);
      build::FunctionBuilder f(module);
      std::vector<Variable> params;
      GeneratedProgram program{"f" + std::to_string(programs.size()), graph.name, {}};
      for (const op::GeneratedTensor& input : graph.inputs) {
        Dims shape = names.tensor(input.shape);
        // A list with as many elements as the preceding matrix: the number is a product.
        if (!params.empty() && input.shape == Shape{element_count(graph.inputs[0].shape)}) {
          shape = {op::product(names.tensor(graph.inputs[0].shape))};
        }
        params.push_back(f.param("x" + std::to_string(params.size()),
                                 relax::tensor_annotation(shape, input.dtype)));
        program.arguments.push_back(op::random_tensor(input, rng));
      }
      Variable result = graph.build(f, params);
      module.functions[program.function] = f.finish(result);
      programs.push_back(std::move(program));
    }
  }
  auto executable = compile_supported(module, target::parse_target(GetParam()));
  std::erase_if(programs, [&](const GeneratedProgram& program) {
    return !module.functions.contains(program.function);
  });
  expect_matches_reference(*session, executable, module, programs);
}

INSTANTIATE_TEST_SUITE_P(Platforms, SmallGraphs,
                         ::testing::Values("cpu", "opencl", "opencl:index=32", "vulkan", "wasm"));

}  // namespace
}  // namespace tapml::testing
