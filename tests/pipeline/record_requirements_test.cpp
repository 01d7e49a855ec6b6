// What implementations require of their callers, and memory that is planned from it.
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/kernel.h"
#include "passes/lift_workspaces.h"
#include "passes/plan_memory.h"
#include "steps_program.h"
#include "text/printer.h"

namespace tapml::pipeline {
namespace {

// A kernel's loops determine which tensors may share memory and the scratch size; explicit
// requirements override them.
TEST(Requirements, MemoryIsPlannedFromThemAlone) {
  const char* const source = R"(module {phase: "fuse"}
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  a: Tensor((n,), f32) = call_tir(@k, (x,), Tensor((n,), f32))
  b: Tensor((n,), f32) = call_tir(@k, (a,), Tensor((n,), f32))
  c: Tensor((n,), f32) = call_tir(@k, (b,), Tensor((n,), f32))
  return c
}
def k(x: Tensor((n,), f32)) -> Tensor((n,), f32) {implementation: "k_impl", kernel: true} {
  y: Tensor((n,), f32) = exp(x)
  return y
}
prim def k_impl(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64)REQUIRES {spec: "k"} {
  for i in serial(n) { block "exp" (v: spatial(n) = i) { reads x[v] writes y[v] y[v] = exp(x[v]) } }
}
)";
  auto planned = [&](const std::string& requirements) {
    std::string text = source;
    text.replace(text.find("REQUIRES"), 8, requirements);
    const Module module =
        passes::plan_memory(passes::lift_workspaces(text::parse(text, "requirements")));
    return text::print(*module.find("main"), "main");
  };
  auto storages = [&](const std::string& text) {
    int count = 0;
    for (size_t at = 0; (at = text.find("alloc_storage", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const std::string by_loops = planned("");
  EXPECT_EQ(planned(" requires {in_place: [0, 1]}"), by_loops);
  EXPECT_GT(storages(planned(" requires {}")), storages(by_loops)) << by_loops;
  EXPECT_EQ(by_loops.find("workspace"), std::string::npos);
  const std::string scratch = planned(" requires {workspace: n*4096, in_place: [0, 1]}");
  EXPECT_NE(scratch.find("n*4096"), std::string::npos) << scratch;
}

TEST(Requirements, AreThoseOfTheImplementations) {
  Module planned;
  ImplementOptions options;
  options.planned = &planned;
  options.instruments.verify = true;
  const auto executable = compile_steps_program("cpu", options);
  int prepared = 0, in_place = 0, workspaces = 0;
  for (const Implementation& implementation : executable->implementations) {
    const KernelInfo& kernel = executable->kernels[static_cast<size_t>(implementation.kernel)];
    const auto& requirements = passes::kernel_implementation(planned, kernel.name).requirements;
    ASSERT_TRUE(requirements) << kernel.name;
    EXPECT_EQ(requirements->prepared.has_value(), has_prepared(implementation)) << kernel.name;
    if (requirements->prepared) {
      ++prepared;
      EXPECT_EQ(requirements->prepared->bytes, *prepared_bytes(implementation));
      EXPECT_EQ(requirements->prepared->digest, implementation.preparation);
      EXPECT_EQ(requirements->prepared->sources, prepared_sources(implementation, kernel));
    }
    const bool scratch = std::ranges::any_of(implementation.workspaces, [](const ParamInfo& one) {
      return one.mode == AccessMode::kWorkspace;
    });
    EXPECT_EQ(static_cast<bool>(requirements->workspace), scratch) << kernel.name;
    workspaces += scratch;
    in_place += requirements->in_place.empty() ? 0 : 1;
  }
  EXPECT_GT(prepared, 0);
  EXPECT_GT(workspaces + in_place, 0);
}

}  // namespace
}  // namespace tapml::pipeline
