// Runs the graph passes, the text format, the checks and the lowering to the virtual machine over a
// generated program, one counted stage after the other, for scripts/count_growth.
//
// Usage: tapml_count_growth chain|wide|functions BINDINGS
// chain: one function of layers; wide: one whose values live long; functions: many small ones.
// Prints the name of every stage, in order.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "codegen/vm/lower.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/plan_memory.h"
#include "pipeline/compile.h"
#include "relax/expr.h"
#include "stage.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::bench {

namespace {

using build::FunctionBuilder;
using relax::Variable;

// Operands that every function of the programs has.
struct Operands {
  Variable x, weight, bias;

  explicit Operands(FunctionBuilder& f) {
    auto f32 = [](const Dims& dims) { return relax::tensor_annotation(dims, DType::kF32); };
    x = f.param("x", f32({make_var("n"), 64}));
    weight = f.param("weight", f32({64, 64}));
    bias = f.param("bias", f32({64}));
  }
};

// Four bindings a layer, each value used at once and once more in the next layer.
Variable layers(FunctionBuilder& f, const Operands& in, Variable x, int64_t bindings) {
  for (int64_t i = 0; i < bindings / 4; ++i) {
    Variable product = f.emit_op("matmul", {x, in.weight});
    Variable sum = f.emit_op("add", {product, in.bias});
    x = f.emit_op("add", {x, f.emit_op("silu", {sum})});
  }
  return x;
}

relax::FunctionRef chain(const Module& module, int64_t bindings) {
  FunctionBuilder f(module);
  Operands in(f);
  f.begin_dataflow();
  Variable last = f.emit_op("exp", {layers(f, in, in.x, bindings - 1)}, {}, "last", true);
  f.end_dataflow();
  return f.finish(last);
}

// Many values are made before the first of them is used.
relax::FunctionRef wide(const Module& module, int64_t bindings) {
  FunctionBuilder f(module);
  Operands in(f);
  f.begin_dataflow();
  std::vector<Variable> made;
  Variable x = in.x;
  for (int64_t i = 0; i < bindings / 4; ++i) {
    x = f.emit_op("add", {x, in.bias});
    made.push_back(f.emit_op("silu", {f.emit_op("matmul", {x, in.weight})}));
  }
  for (const Variable& one : made) x = f.emit_op("add", {x, one});
  Variable last = f.emit_op("exp", {x}, {}, "last", true);
  f.end_dataflow();
  return f.finish(last);
}

Module program(const std::string& shape, int64_t bindings) {
  Module module;
  if (shape == "functions") {
    constexpr int64_t kEach = 50;
    for (int64_t i = 0; i < bindings / kEach; ++i) {
      module.functions["part" + std::to_string(i)] = chain(module, kEach);
    }
  } else {
    module.functions["main"] = shape == "wide" ? wide(module, bindings) : chain(module, bindings);
  }
  return module;
}

void lower(const Module& planned) {
  Executable executable;
  codegen::VmContext context;
  for (const auto& [name, function] : planned.functions) {
    const relax::Function* source = relax::as_relax_function(function.get());
    if (!source) continue;
    if (passes::is_kernel(source)) {
      auto index = static_cast<int32_t>(executable.kernels.size());
      context.kernels[name] = {index, &passes::kernel_implementation(planned, name)};
      executable.kernels.emplace_back();
    } else {
      const auto index = static_cast<int32_t>(context.functions.size());
      context.functions[name] = index;
    }
  }
  for (const auto& [name, index] : context.functions) {
    const relax::Function& source = *relax::as_relax_function(planned.find(name));
    executable.functions.push_back(codegen::lower_function(name, source, context, executable));
  }
}

void run(const std::string& shape, int64_t bindings) {
  Module module = program(shape, bindings);
  std::string source;
  stage("print", [&] { source = text::print(module); });
  stage("parse", [&] { module = text::parse(source, "generated"); });
  stage("hash", [&] { text::structural_hash(module); });
  stage("equal", [&] { text::structural_equal(module, module); });
  stage("verify", [&] { analysis::verify(module); });
  stage("annotations", [&] { build::check_annotations(module); });
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (pass.phase == std::string(pipeline::kByName)) continue;
    stage(pass.name, [&] { module = pass.run(module); });
  }
  stage("verify planned", [&] { analysis::verify(module); });
  stage("print planned", [&] { source = text::print(module); });
  stage("lower", [&] { lower(module); });
}

}  // namespace

}  // namespace tapml::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tapml_count_growth chain|wide|functions BINDINGS\n");
    return 2;
  }
  try {
    tapml::bench::run(argv[1], std::atoll(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
