// Dequantized weights are never stored: the products that read them compute them.
#include <gtest/gtest.h>

#include <algorithm>

#include "build/block_builder.h"
#include "checked.h"
#include "passes/fold_constants.h"
#include "passes/lift_preparation.h"
#include "passes/weights.h"
#include "relax/visit.h"
#include "text/parser.h"

namespace tapml::passes {
namespace {

constexpr const char* kProduct = R"(module
def main(x: Tensor((n, 64), f32), q: Tensor((96, 32), u8), s: Tensor((96, 2), f16), b: Tensor((96,), f32)) -> Tensor((n, 96), f32) {
  dataflow {
    w: Tensor((96, 64), f32) = dequantize(q, s)
    y: Tensor((n, 96), f32) = matmul(x, w) {transpose_b: true}
    z: Tensor((n, 96), f32) = add(y, b)
    output z
  }
  return z
}
)";

TEST(QuantizedWeights, AreOneKernelWithTheirProduct) {
  const Module module = fused(kProduct);
  EXPECT_EQ(kernels_of(module), std::vector<std::string>{"dequantize_matmul_add"});
}

TEST(QuantizedWeights, AreOneKernelWithTheExpertsThatReadThem) {
  const Module module = fused(R"(module
def main(x: Tensor((n, 1, 64), f32), q: Tensor((8, 96, 32), u8), s: Tensor((8, 96, 2), f32), e: Tensor((n, 2), i32)) -> Tensor((n, 2, 96), f32) {
  dataflow {
    w: Tensor((8, 96, 64), f32) = dequantize(q, s)
    y: Tensor((n, 2, 96), f32) = gather_matmul(x, w, e)
    output y
  }
  return y
}
)");
  EXPECT_EQ(kernels_of(module), std::vector<std::string>{"dequantize_gather_matmul"});
}

// Quantized activations are expanded in each product that reads them, too.
TEST(QuantizedWeights, AreOneKernelWithQuantizedActivations) {
  const Module module = fused(R"(module
def main(x: Tensor((n, 64), f32), q: Tensor((96, 32), u8), s: Tensor((96, 2), f32)) -> Tensor((n, 96), f32) {
  dataflow {
    p: Tuple(Tensor((n, 64), i8), Tensor((n, 2), f32)) = quantize(x)
    l: Tensor((n, 64), i8) = p[0]
    c: Tensor((n, 2), f32) = p[1]
    u: Tensor((n, 64), f32) = dequantize(l, c)
    v: Tensor((n, 64), f32) = dequantize(l, c)
    w: Tensor((96, 64), f32) = dequantize(q, s)
    y: Tensor((n, 96), f32) = matmul(u, w) {transpose_b: true}
    r: Tensor((n, n), f32) = matmul(v, v) {transpose_b: true}
    z: Tensor((n, 96), f32) = matmul(r, y)
    output z
  }
  return z
}
)");
  EXPECT_EQ(std::ranges::count(kernels_of(module), "dequantize_dequantize_matmul"), 1);
}

// Levels of three bits are in two planes of one tensor, which the product reads.
TEST(QuantizedWeights, OfFewBitsAreOneKernelWithTheirProduct) {
  const Module module = fused(R"(module
def main(x: Tensor((n, 64), f32), q: Tensor((96, 24), u8), s: Tensor((96, 2), f32)) -> Tensor((n, 96), f32) {
  dataflow {
    w: Tensor((96, 64), f32) = dequantize(q, s) {bits: 3}
    y: Tensor((n, 96), f32) = matmul(x, w) {transpose_b: true}
    output y
  }
  return y
}
)");
  EXPECT_EQ(kernels_of(module), std::vector<std::string>{"dequantize_matmul"});
}

// Operands computed from values other than weights still stay out of a product.
TEST(QuantizedWeights, OnlyTheyAreFusedIntoAProduct) {
  const Module module = fused(R"(module
def main(x: Tensor((n, 64), f32), q: Tensor((96, 32), u8), t: Tensor((96, 2), f32)) -> Tensor((n, 96), f32) {
  dataflow {
    u: Tensor((n, 64), f32) = negative(x)
    s: Tensor((96, 2), f32) = exp(t)
    w: Tensor((96, 64), f32) = dequantize(q, s)
    y: Tensor((n, 96), f32) = matmul(u, w) {transpose_b: true}
    output y
  }
  return y
}
)");
  std::vector<std::string> kernels = kernels_of(module);
  std::ranges::sort(kernels);
  EXPECT_EQ(kernels, (std::vector<std::string>{"dequantize_matmul", "exp", "negative"}));
}

// Even if f16 elements with one f32 scale for two of them would take no more memory than both.
TEST(QuantizedWeights, AreNotPrepared) {
  Module module = text::parse(R"(module
def decode(x: Tensor((n, 64), f32), q: Tensor((96, 32), u8), s: Tensor((96, 32), f32)) -> Tensor((n, 96), f32) {
  dataflow {
    w: Tensor((96, 64), f16) = dequantize(q, s) {group: 2, dtype: f16}
    y: Tensor((n, 96), f32) = matmul(x, w) {transpose_b: true}
    output y
  }
  return y
}
)",
                              "test");
  module.facts.weights = {"q", "s"};
  build::check_annotations(module);
  EXPECT_EQ(lift_preparation(module).find(kPrepareFunction), nullptr);
}

TEST(QuantizedWeights, AreNotFolded) {
  const Module module = fold_constants(text::parse(R"(module
def main() -> Tensor((4,), f32) {
  dataflow {
    w: Tensor((4,), f32) = dequantize(const(u8, (2,), [25, 255]), const(f32, (2,), [0.5, 2.0])) {group: 2}
    output w
  }
  return w
}
)",
                                                   "test"));
  bool kept = false;
  relax::visit_bindings(relax::as_relax_function(module.find("main"))->body,
                        [&](const relax::Binding& binding, bool) {
                          kept |= relax::called_operator(binding.value) == "dequantize";
                        });
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace tapml::passes
