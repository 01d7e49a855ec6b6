#include "passes/plan_memory.h"

#include <gtest/gtest.h>

#include "passes/legalize.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

std::string planned(const std::string& source) {
  Module module = plan_memory(legalize(text::parse(source, "test")));
  return text::print(*module.find("main"), "main");
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(PlanMemory, EqualSymbolicSizesShareStorage) {
  // In the manner of figure 10 of the Relax paper: (2, n) and (2*n,) have equal sizes, so that the
  // third tensor takes the first one's storage; views take none.
  std::string text = planned(R"(
def main(x: Tensor((2, n), f32), two: Tensor((2,), f32)) -> Tensor((n * 2 + 2,), f32) {
  dataflow {
    a: Tensor((2, n), f32) = exp(x)
    b: Tensor((n * 2,), f32) = reshape(a, shape(n * 2))
    c: Tensor((n * 2,), f32) = silu(b)
    d: Tensor((n * 2,), f32) = exp(c)
    e: Tensor((n * 2 + 2,), f32) = concat((d, two)) {axis: 0}
    output e
  }
  return e
}
)");
  EXPECT_EQ(count(text, "memory.alloc_storage"), 3) << text;
  EXPECT_NE(text.find("a: Tensor((2, n), f32) = memory.alloc_tensor(st0"), std::string::npos);
  EXPECT_NE(text.find("c: Tensor((n*2,), f32) = memory.alloc_tensor(st1"), std::string::npos);
  EXPECT_NE(text.find("d: Tensor((n*2,), f32) = memory.alloc_tensor(st0"), std::string::npos)
      << text;
}

TEST(PlanMemory, AViewKeepsItsStorage) {
  std::string text = planned(R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n * 4,), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    v: Tensor((n * 4,), f32) = reshape(a, shape(n * 4))
    b: Tensor((n, 4), f32) = silu(a)
    w: Tensor((n * 4,), f32) = reshape(b, shape(n * 4))
    c: Tensor((n * 4,), f32) = add(v, w)
    output c
  }
  return c
}
)");
  // a is read through v until the end: three storages are needed.
  EXPECT_EQ(count(text, "memory.alloc_storage"), 3) << text;
}

TEST(PlanMemory, ConstantSizesTakeLargerStorage) {
  std::string text = planned(R"(
def main(x: Tensor((8,), f32)) -> Tensor((1,), f32) {
  dataflow {
    a: Tensor((8,), f32) = exp(x)
    b: Tensor((1,), f32) = sum(a) {axes: [0], keepdims: true}
    c: Tensor((1,), f32) = exp(b)
    output c
  }
  return c
}
)");
  EXPECT_EQ(count(text, "memory.alloc_storage"), 2) << text;
  EXPECT_NE(text.find("alloc_storage(shape(32))"), std::string::npos);
  EXPECT_NE(text.find("alloc_storage(shape(16))"), std::string::npos) << text;
}

TEST(PlanMemory, InPlaceUpdatesKeepTheirArgument) {
  std::string text = planned(R"(
def main(pool: Tensor((pages, 16, 2, 8), f32), new: Tensor((b, n, 2, 8), f32), table: Tensor((b, p), i32), lengths: Tensor((b,), i32)) -> Tensor((pages, 16, 2, 8), f32) {
  dataflow {
    y: Tensor((pages, 16, 2, 8), f32) = kv_append(pool, new, table, lengths)
    output y
  }
  return y
}
)");
  EXPECT_EQ(count(text, "memory.alloc"), 0) << text;
  EXPECT_NE(text.find("= pool"), std::string::npos) << text;
}

TEST(PlanMemory, ResultsAreNeverTakenAgain) {
  std::string text = planned(R"(
def main(x: Tensor((n,), f32)) -> Tuple(Tensor((n,), f32), Tensor((n,), f32)) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = silu(a)
    output a, b
  }
  return (a, b)
}
)");
  EXPECT_EQ(count(text, "memory.alloc_storage"), 2) << text;
}

TEST(StorageBytes, ArePaddedToSixteen) {
  EXPECT_EQ(to_string(storage_bytes({3}, DType::kF32)), "16");
  EXPECT_EQ(to_string(storage_bytes({4, 4}, DType::kF32)), "64");
  Var n = make_var("n");
  EXPECT_EQ(to_string(storage_bytes({n, 4}, DType::kF32)), "n*16");
}

}  // namespace
}  // namespace tapml::passes
