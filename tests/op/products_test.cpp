// Deduction of products of tensors, and its messages.
#include "deduce_case.h"

namespace tapml::op {
namespace {

using namespace testing;  // NOLINT: short names of annotations

class Products : public ::testing::Test {
 protected:
  Var n = make_size("n"), m = make_size("m"), b = make_size("b");
};

TEST_F(Products, MatmulOfVectorsAndTransposes) {
  EXPECT_EQ(deduced("matmul", {tensor({n}), tensor({n})}), "Tensor((), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({n}), tensor({b, n, m})}), "Tensor((b, m), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({b, n, m}), tensor({m})}), "Tensor((b, n), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({b, n, m}), tensor({n, 4})}, {{"transpose_a", true}}),
            "Tensor((b, m, 4), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({n}), tensor({4, n})}, {{"transpose_b", true}}),
            "Tensor((4,), f32)");
  EXPECT_EQ(deduced("matmul", {coarse(1), coarse(3)}), "Tensor(ndim=2, f32)");
  EXPECT_EQ(deduced("matmul", {tensor({2, n}, kI32), tensor({n, 3}, kI32)}), "Tensor((2, 3), i32)");
  EXPECT_EQ(failure("matmul", {tensor({2, n}, kI32), tensor({n, 3})}),
            "matmul: operands have different dtypes | equal dtypes, or two float dtypes | i32 and "
            "f32");
  EXPECT_EQ(failure("matmul", {tensor({2, n}), tensor({n, 3})}, {{"out_dtype", kI32}}),
            "matmul: out_dtype differs in kind from the operands | a float dtype | i32");
  EXPECT_EQ(failure("matmul", {tensor({2, 2}, DType::kBool), tensor({2, 2}, DType::kBool)}),
            "matmul: argument 'a' has the wrong dtype | a float or integer dtype | bool");
  EXPECT_EQ(failure("matmul", {tensor({3, 2, 4}), tensor({5, 4, 2})}),
            "matmul: shapes do not broadcast | equal dimensions, or one of them 1 | (3,) and (5,)");
}

TEST_F(Products, AccumulationInF16GoesWithF16Operands) {
  const AttrMap half = {{"accumulation", kF16}};
  EXPECT_EQ(deduced("matmul", {tensor({2, n}, kF16), tensor({n, 3}, kF16)}, half),
            "Tensor((2, 3), f16)");
  EXPECT_EQ(deduced("matmul", {tensor({2, n}, kF16), tensor({n, 3})}, half), "Tensor((2, 3), f32)");
  EXPECT_EQ(failure("matmul", {tensor({2, n}), tensor({n, 3})}, half),
            "matmul: sums in f16 go with an operand in f16 only | f16, and another float below f64 "
            "| f32 and f32");
  EXPECT_EQ(failure("matmul", {tensor({2, n}, kF16), tensor({n, 3}, kF64)}, half),
            "matmul: sums in f16 go with an operand in f16 only | f16, and another float below f64 "
            "| f16 and f64");
  EXPECT_EQ(failure("matmul", {tensor({2, n}), tensor({n, 3})}, {{"accumulation", kBF16}}),
            "matmul: sums are not accumulated in this dtype | f32 or f16 | bf16");
  EXPECT_EQ(failure("gather_matmul", {tensor({2, n}), tensor({4, 3, n}), tensor({2}, kI32)}, half),
            "gather_matmul: sums in f16 go with an operand in f16 only | f16, and another float "
            "below f64 | f32 and f32");
}

TEST_F(Products, OuterAndLinear) {
  EXPECT_EQ(deduced("outer", {tensor({n}), tensor({m})}), "Tensor((n, m), f32)");
  EXPECT_EQ(failure("outer", {tensor({n, 1}), tensor({m})}),
            "outer: argument 'a' has the wrong rank | 1 dimensions | Tensor((n, 1), f32)");
  EXPECT_EQ(deduced("linear", {tensor({b, n, 4}, kF16), tensor({m, 4}, kF16), tensor({m}, kF16)}),
            "Tensor((b, n, m), f16)");
  EXPECT_EQ(failure("linear", {tensor({n, 4}), tensor({m, 5}), tensor({m})}),
            "linear: dimensions x.-1 and weight.1 differ | equal dimensions | 4 and 5");
  EXPECT_EQ(failure("linear", {tensor({n, 4}), tensor({3, 4}), tensor({2})}),
            "linear: dimensions weight.0 and bias.0 differ | equal dimensions | 3 and 2");
}

TEST_F(Products, Einsum) {
  auto run = [&](const char* equation, std::vector<Expr> args) {
    return deduced("einsum", std::move(args), {{"equation", std::string(equation)}});
  };
  EXPECT_EQ(run("bij,jk->bik", {tensor({b, n, 4}), tensor({4, m})}), "Tensor((b, n, m), f32)");
  EXPECT_EQ(run("ii,i", {tensor({n, n}), tensor({n})}), "Tensor((), f32)");
  EXPECT_EQ(run("ca,ab", {tensor({n, 4}), tensor({4, m})}), "Tensor((m, n), f32)");
  EXPECT_EQ(run("...i,i->...", {tensor({b, n, 4}), tensor({4})}), "Tensor((b, n), f32)");
  EXPECT_EQ(run("...i,...i->i...", {tensor({b, 1, 4}), tensor({n, 4})}), "Tensor((4, b, n), f32)");
  EXPECT_EQ(run("ij,jk->ik", {coarse(2), coarse(2)}), "Tensor(ndim=2, f32)");

  auto wrong = [&](const char* equation, std::vector<Expr> args) {
    std::string text = failure("einsum", std::move(args), {{"equation", std::string(equation)}});
    return text.substr(0, text.find(" | "));
  };
  std::vector<Expr> square = {tensor({n, 4}), tensor({4, m})};
  const std::string prefix = "einsum: the equation is not well-formed: ";
  EXPECT_EQ(wrong("ij->i", square), prefix + "it does not have two operands");
  EXPECT_EQ(wrong("ij,jk,kl->i", square), prefix + "it does not have two operands");
  EXPECT_EQ(wrong("ij,jk->ii", square), prefix + "label 'i' is twice in the result");
  EXPECT_EQ(wrong("ij,jk->iz", square), prefix + "label 'z' of the result is in no operand");
  EXPECT_EQ(wrong("i1,jk->i", square), prefix + "'1' is not a label");
  EXPECT_EQ(wrong("i..,jk->i", square), prefix + "an ellipsis is three points");
  EXPECT_EQ(wrong("......,jk->i", square), prefix + "a term has two ellipses");
  EXPECT_EQ(wrong("...ij,jk->ik", square), prefix + "the result lacks the ellipsis");
  EXPECT_EQ(wrong("ijk,jk->i", square), "einsum: argument 'a' has the wrong rank");
  EXPECT_EQ(wrong("ij,kj->ik", {tensor({n, 4}), tensor({m, 5})}),
            "einsum: dimensions of label 'j' differ");
}

}  // namespace
}  // namespace tapml::op
