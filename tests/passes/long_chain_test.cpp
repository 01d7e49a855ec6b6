// Fusion of long chains: kernels stay small enough to print and compile.
#include <gtest/gtest.h>

#include "passes/dead_code.h"
#include "passes/fuse_ops.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

TEST(FuseOps, LongChainsBecomeSeveralKernels) {
  std::string source = "def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\ndataflow {\n";
  std::string last = "x";
  constexpr int kSteps = 1200;
  for (int i = 0; i < kSteps; ++i) {
    std::string next = "v" + std::to_string(i);
    source += next + ": Tensor((n,), f32) = negative(" + last + ")\n";
    last = next;
  }
  Module module = text::parse(source + "output " + last + "\n}\nreturn " + last + "\n}", "test");
  for (auto* pass : {legalize, annotate_patterns, fuse_ops, fuse_tensor_ir, eliminate_dead_code}) {
    module = pass(module);
  }
  // Twelve calls of one kernel of 100 operators.
  EXPECT_EQ(module.functions.size(), 3u);
  EXPECT_NO_THROW(text::parse(text::print(module), "test"));
}

}  // namespace
}  // namespace tapml::passes
