// Runs the graph passes, the text format, the checks and the lowering to the virtual machine over a
// generated program, one counted stage after another, for scripts/count_instructions --growth.
//
// Usage: tapml_count_growth SHAPE BINDINGS
// See programs.h for the shapes. Prints the name of every stage, in order.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "codegen/vm/lower.h"
#include "ir/exceptions.h"
#include "passes/a_normal_form.h"
#include "passes/canonicalize.h"
#include "passes/defuse.h"
#include "passes/kernel.h"
#include "passes/partial_evaluate.h"
#include "passes/plan_memory.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "relax/expr.h"
#include "stage.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::bench {

namespace {

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
  Module module = generated_program(shape, bindings);
  std::string source;
  stage("print", [&] { source = text::print(module); });
  stage("parse", [&] { module = text::parse(source, "generated"); });
  stage("a_normal_form", [&] { module = passes::a_normal_form(module); });
  stage("hash", [&] { text::structural_hash(module); });
  stage("equal", [&] { text::structural_equal(module, module); });
  stage("verify", [&] { analysis::verify(module); });
  stage("annotations", [&] { build::check_annotations(module); });
  // What a compilation does not run at this place; the results are discarded.
  stage("canonicalize", [&] { passes::canonicalize(module); });
  stage("partial_evaluate", [&] { passes::partial_evaluate(module); });
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    // Calls are ordered only if there is a memory limit.
    const bool plans =
        pass.phase == std::string("plan") && pass.name != std::string("order_bindings");
    if (!pass.is_common() && !plans) continue;
    if (pass.name == std::string("mark_weights")) stage("defuse", [&] { passes::defuse(module); });
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
    std::fprintf(stderr, "usage: tapml_count_growth %s BINDINGS\n", tapml::bench::kShapes);
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
