// Runs the graph and TIR passes over a module, one counted stage after another, for
// scripts/count_instructions.
//
// Usage: tapml_count_passes MODULE.txt
// Prints the name of every stage, in order. Exit code 1 if the module cannot be read or compiled.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "codegen/lower/device_func.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/lower_math.h"
#include "passes/plan_memory.h"
#include "pipeline/compile.h"
#include "schedule/rules.h"
#include "stage.h"
#include "text/parser.h"

namespace tapml::bench {

namespace {

void run_passes(const char* path) {
  std::ifstream file(path);
  if (!file) throw_user("cannot be opened", path);
  std::string source{std::istreambuf_iterator<char>(file), {}};
  Module module = text::parse(source, path);
  for (const pipeline::PassInfo& pass : pipeline::pass_table()) {
    if (!pass.is_common()) break;
    stage(pass.name, [&] { module = pass.run(module); });
  }
  // Loops depend on the CPU's registers: use the same CPU on every machine.
  const std::pair<const char*, const char*> platforms[] = {
      {"cpu", "cpu:arch=x86-64,features=avx2+fma"}, {"opencl", "opencl"}};
  for (const auto& [platform, described] : platforms) {
    const target::Target target = target::parse_target(described);
    std::vector<std::pair<std::string, tir::PrimFuncRef>> kernels;
    stage(std::string("schedule ") + platform, [&] {
      for (const auto& [name, function] : module.functions) {
        if (!passes::is_kernel(function.get())) continue;
        const tir::PrimFunc& loops = passes::kernel_implementation(module, name);
        kernels.emplace_back(name, schedule::schedule_for(loops, target).func);
      }
    });
    stage(std::string("lower_math ") + platform, [&] {
      for (auto& [name, func] : kernels) func = passes::lower_math(*func);
    });
    stage(std::string("lower ") + platform, [&] {
      for (const auto& [name, func] : kernels) codegen::lower_prim_func(*func, name);
    });
  }
  stage("plan_memory", [&] { module = passes::plan_memory(module); });
}

}  // namespace

}  // namespace tapml::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tapml_count_passes MODULE.txt\n");
    return 2;
  }
  try {
    tapml::bench::run_passes(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
