#include "passes/lift_workspaces.h"

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "passes/plan_memory.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

// A program with 65,536 bytes of scratch memory between two others.
const char* const kScratchProgram = R"(module
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    y: Tensor((n, 4), f32) = call_tir(@mix, (a,), Tensor((n, 4), f32))
    z: Tensor((n, 4), f32) = softmax(y) {axis: 0}
    output z
  }
  return z
}
prim def mix(a: Buffer((m, 4), f32), out b: Buffer((m, 4), f32), m: i64) {
  alloc w: Buffer((16384,), f32)
  for i in serial(16384) { w[i] = f32(1.0) }
  for i in serial(m) { for j in serial(4) { b[i, j] = a[i, j] * w[j] } }
})";

Module lifted() {
  Module result = lift_workspaces(legalize(text::parse(kScratchProgram, "test")));
  analysis::verify(result, "lift_workspaces");
  return result;
}

TEST(LiftWorkspaces, CallsPassTheWorkspacesOfTheirKernels) {
  Module module = lifted();
  std::string text = text::print(*module.find("main"), "main");
  EXPECT_NE(text.find("shape(65536)"), std::string::npos) << text;
  EXPECT_TRUE(text::structural_equal(text::parse(text::print(module), "again"), module));
  for (const auto& [name, function] : module.functions) {
    if (!is_kernel(function.get())) continue;
    EXPECT_LE(kernel_implementation(module, name).params.size(), 2u) << "the signature stays";
  }
}

TEST(LiftWorkspaces, WorkspacesArePlannedWithEverythingElse) {
  PlanMemoryOptions options;
  options.bounds = {{"n", 8192}};
  options.in_place = false;
  Module module = plan_memory_with(lifted(), options);
  analysis::verify(module, "plan_memory");
  std::string text = text::print(*module.find("main"), "main");
  // 131,072 bytes each for a and y; the workspace is live with both and follows a. The workspaces
  // of softmax, 131,584 bytes, reuse the space of both.
  EXPECT_NE(text.find("alloc_storage(shape(196608)) {static: 0}"), std::string::npos) << text;
  EXPECT_NE(text.find("alloc_storage(shape(131072)) {static: 1}"), std::string::npos) << text;
  EXPECT_EQ(text.find("{static: 2}"), std::string::npos) << text;
  EXPECT_NE(text.find("y_workspace: Tensor((65536,), u8) = memory.alloc_tensor(st0, shape(65536), "
                      "prim(131072)) {dtype: u8}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(y,), shape(), y_workspace)"), std::string::npos) << text;
  EXPECT_NE(text.find("(z,), shape(), st0)"), std::string::npos) << text;
}

TEST(LiftWorkspaces, SizesOfImplementationsMayBeSymbolic) {
  Module module = legalize(text::parse(kScratchProgram, "test"));
  for (auto& [name, function] : module.functions) {
    const tir::PrimFunc* loops = tir::as_prim_func(function.get());
    if (!loops || loops->facts.spec.empty()) continue;
    // The requirements of the implementation count, not its loops.
    auto program = std::make_shared<tir::PrimFunc>(*loops);
    program->requirements = tir::Requirements();
    if (name.starts_with("exp")) program->requirements->workspace = loops->scalars.at(0) * 256;
    function = std::move(program);
  }
  EXPECT_TRUE(text::structural_equal(text::parse(text::print(module), "again"), module));
  Module result = lift_workspaces(module);
  std::string text = text::print(*result.find("main"), "main");
  EXPECT_NE(text.find("shape(n*256)"), std::string::npos) << text;
  EXPECT_EQ(text.find("shape(65536)"), std::string::npos) << text;
}

}  // namespace
}  // namespace tapml::passes
