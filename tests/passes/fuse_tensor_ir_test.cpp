// Groups that become kernels: programs before and after the pass.
#include "passes/fuse_tensor_ir.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

TEST(FuseTensorIr, LoopsFollowEachOther) {
  EXPECT_EQ(text::print(fused(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    y: Tensor((n,), f32) = negative(a)
    output y
  }
  return y
}
)")),
            text::print(text::parse(R"(
def exp_negative_4c835723(
    x0: Tensor((n,), f32)
) -> Tensor((n,), f32) {implementation: "exp_negative_4c835723_impl", kernel: true} {
  dataflow {
    y0: Tensor((n,), f32) = exp(x0)
    y1: Tensor((n,), f32) = negative(y0)
    output y1
  }
  return y1
}

prim def exp_negative_4c835723_impl(
    x0: Buffer((n,), f32),
    out out: Buffer((n,), f32),
    n: i64
) {spec: "exp_negative_4c835723"} {
  alloc v0: Buffer((n,), f32)
  for i in serial(n) {
    block "exp" (vi: spatial(n) = i) {
      reads x0[vi]
      writes v0[vi]
      v0[vi] = exp(x0[vi])
    }
  }
  for i in serial(n) {
    block "negative" (vi: spatial(n) = i) {
      reads v0[vi]
      writes out[vi]
      out[vi] = v0[vi]*f32(-1.0)
    }
  }
}

def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    y: Tensor((n,), f32) = call_tir(@exp_negative_4c835723, (x,), Tensor((n,), f32))
    output y
  }
  return y
}
)",
                                    "after")));
}

// Shapes with other variable names give the same kernel.
TEST(FuseTensorIr, EqualKernelsAreShared) {
  const Module module = fused(R"(
def main(x: Tensor((n,), f32), y: Tensor((m,), f32)) -> Tuple(Tensor((n,), f32), Tensor((m,), f32)) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = negative(a)
    c: Tensor((m,), f32) = exp(y)
    d: Tensor((m,), f32) = negative(c)
    output b, d
  }
  return (b, d)
}
)");
  EXPECT_EQ(kernels_of(module), (std::vector<std::string>{"exp_negative", "exp_negative"}));
  EXPECT_EQ(module.functions.size(), 3u);  // main, a specification and its loops
}

}  // namespace
}  // namespace tapml::passes
