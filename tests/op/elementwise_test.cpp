// Deduction of elementwise operators, reductions, normalizations and creation, and their messages.
#include <cmath>

#include "deduce_case.h"

namespace tapml::op {
namespace {

using namespace testing;  // NOLINT: short names of annotations

class Families : public ::testing::Test {
 protected:
  Var n = make_size("n"), m = make_size("m"), c = make_size("c");
  Expr flags = tensor({n}, kBool);
};

TEST_F(Families, FunctionsOfRealNumbersTakeIntegersAsF32) {
  for (const char* name : {"tan", "erf", "asin", "log2", "gelu", "sigmoid"}) {
    EXPECT_EQ(deduced(name, {tensor({n, 3}, kI8)}), "Tensor((n, 3), f32)") << name;
    EXPECT_EQ(deduced(name, {tensor({n}, kBool)}), "Tensor((n,), f32)") << name;
    EXPECT_EQ(deduced(name, {tensor({n}, kF64)}), "Tensor((n,), f64)") << name;
    EXPECT_EQ(deduced(name, {coarse(2, std::nullopt)}), "Tensor(ndim=2)") << name;
  }
  EXPECT_EQ(failure("gelu", {tensor({n})}, {{"approximate", std::string("sigmoid")}}),
            "gelu: no such approximation | \"none\" or \"tanh\" | \"sigmoid\"");
}

TEST_F(Families, RoundingKeepsTheDtype) {
  for (const char* name : {"floor", "ceil", "round", "trunc", "abs", "sign", "square", "relu"}) {
    EXPECT_EQ(deduced(name, {tensor({n}, kU64)}), "Tensor((n,), u64)") << name;
    EXPECT_EQ(
        failure(name, {flags}),
        std::string(name) + ": argument 'x' has the wrong dtype | a float or integer dtype | bool");
  }
  AttrMap both = {{"min", -1.0}, {"max", 2.0}};
  EXPECT_EQ(deduced("clip", {tensor({n}, kI32)}, both), "Tensor((n,), i32)");
  EXPECT_EQ(failure("clip", {tensor({n})}), "clip: there is no bound | min, max or both | neither");
  EXPECT_EQ(failure("clip", {tensor({n})}, {{"min", double(NAN)}}),
            "clip: a bound is NaN | a number | nan");
  EXPECT_EQ(failure("clip", {tensor({n}, kI32)}, {{"max", 0.5}}),
            "clip: a bound of an integer tensor is not an integer | an integer | 0.500000");
}

TEST_F(Families, Predicates) {
  EXPECT_EQ(deduced("isnan", {tensor({n}, kI32)}), "Tensor((n,), bool)");
  EXPECT_EQ(deduced("logical_not", {coarse(1)}), "Tensor(ndim=1, bool)");
  EXPECT_EQ(deduced("less_equal", {tensor({n, 1}, kU64), tensor({3}, kU64)}),
            "Tensor((n, 3), bool)");
  EXPECT_EQ(deduced("not_equal", {flags, flags}), "Tensor((n,), bool)");
  EXPECT_EQ(failure("greater_equal", {tensor({n}), tensor({n}, kI32)}),
            "greater_equal: operands have different dtypes | equal dtypes, or two float dtypes | "
            "f32 and i32");
  EXPECT_EQ(deduced("logical_xor", {tensor({n}), tensor({n}, kI32)}), "Tensor((n,), bool)");
  EXPECT_EQ(failure("where", {tensor({n}), tensor({n}), tensor({n})}),
            "where: argument 'condition' has the wrong dtype | bool | f32");
  EXPECT_EQ(failure("where", {flags, tensor({n}), tensor({n}, kF16)}),
            "where: operands have different dtypes | equal dtypes | f32 and f16");
}

TEST_F(Families, Arithmetic) {
  for (const char* name :
       {"floor_divide", "trunc_divide", "floor_mod", "mod", "power", "maximum"}) {
    EXPECT_EQ(deduced(name, {tensor({n, 1}, kU64), tensor({n, 4}, kU64)}), "Tensor((n, 4), u64)");
    EXPECT_EQ(deduced(name, {tensor({n}, kF16), tensor({}, kF64)}), "Tensor((n,), f64)");
    EXPECT_EQ(
        failure(name, {tensor({n}, kI32), flags}),
        std::string(name) + ": argument 'b' has the wrong dtype | a float or integer dtype | bool");
  }
  EXPECT_EQ(deduced("divide", {tensor({n}, kU64), tensor({n}, kU64)}), "Tensor((n,), f32)");
  EXPECT_EQ(failure("divide", {flags, flags}),
            "divide: argument 'a' has the wrong dtype | a float or integer dtype | bool");
}

TEST_F(Families, BitsAndShifts) {
  EXPECT_EQ(deduced("bitwise_and", {flags, flags}), "Tensor((n,), bool)");
  EXPECT_EQ(deduced("bitwise_not", {tensor({n}, kU64)}), "Tensor((n,), u64)");
  EXPECT_EQ(failure("bitwise_not", {tensor({n})}),
            "bitwise_not: argument 'x' has the wrong dtype | an integer dtype or bool | f32");
  EXPECT_EQ(failure("bitwise_or", {tensor({n}, kI32), tensor({n})}),
            "bitwise_or: argument 'b' has the wrong dtype | an integer dtype or bool | f32");
  EXPECT_EQ(failure("bitwise_xor", {tensor({n}, kI32), tensor({n}, kI8)}),
            "bitwise_xor: operands have different dtypes | equal dtypes, or two float dtypes | i32 "
            "and i8");
  EXPECT_EQ(deduced("left_shift", {tensor({n}, kI8), tensor({}, kI8)}), "Tensor((n,), i8)");
  EXPECT_EQ(failure("right_shift", {flags, flags}),
            "right_shift: argument 'a' has the wrong dtype | an integer dtype | bool");
}

TEST_F(Families, Reductions) {
  AttrMap last = {{"axes", Ints{-1}}, {"keepdims", true}};
  for (const char* name : {"sum", "prod", "max", "min"}) {
    EXPECT_EQ(deduced(name, {tensor({n, m}, kI8)}, last), "Tensor((n, 1), i8)");
    EXPECT_EQ(
        failure(name, {flags}),
        std::string(name) + ": argument 'x' has the wrong dtype | a float or integer dtype | bool");
  }
  for (const char* name : {"mean", "variance", "logsumexp"}) {
    EXPECT_EQ(deduced(name, {tensor({n, m}, kF16)}), "Tensor((), f16)");
    EXPECT_EQ(failure(name, {tensor({n}, kI32)}),
              std::string(name) + ": argument 'x' has the wrong dtype | a float dtype | i32");
  }
  EXPECT_EQ(failure("variance", {tensor({n})}, {{"correction", int64_t{-1}}}),
            "variance: correction is negative | 0 or more | -1");
  EXPECT_EQ(deduced("any", {tensor({n, m})}, last), "Tensor((n, 1), bool)");
  EXPECT_EQ(deduced("argmin", {tensor({n, m}, kU64)}, {{"axis", int64_t{0}}}), "Tensor((m,), i32)");
  EXPECT_EQ(failure("argmin", {tensor({})}),
            "argmin: argument 'x' has too few dimensions | at least 1 dimension | Tensor((), f32)");
  EXPECT_EQ(failure("argmin", {tensor({n, 0})}),
            "argmin: the axis has no elements | at least one element | 0");
}

TEST_F(Families, Scans) {
  EXPECT_EQ(deduced("cumsum", {tensor({n, m}, kI8)}, {{"axis", int64_t{-2}}}),
            "Tensor((n, m), i8)");
  EXPECT_EQ(failure("cumprod", {tensor({n, m})}, {{"axis", int64_t{2}}}),
            "cumprod: axis is outside the tensor | an axis from -2 to 1 | 2");
  EXPECT_EQ(failure("cumsum", {tensor({n})}),
            "cumsum: attribute 'axis' is missing | an integer | ");
  EXPECT_EQ(failure("cumsum", {tensor({})}, {{"axis", int64_t{0}}}),
            "cumsum: argument 'x' has too few dimensions | at least 1 dimension | Tensor((), f32)");
}

TEST_F(Families, Normalizations) {
  Expr x = tensor({n, c, 5}, kF16), each = tensor({c});
  EXPECT_EQ(deduced("log_softmax", {x}), "Tensor((n, c, 5), f16)");
  EXPECT_EQ(deduced("layer_norm", {x, tensor({5}), tensor({5})}), "Tensor((n, c, 5), f16)");
  EXPECT_EQ(deduced("layer_norm", {x, tensor({c, 5}), tensor({c, 5})}), "Tensor((n, c, 5), f16)");
  EXPECT_EQ(failure("layer_norm", {x, tensor({4}), tensor({5})}),
            "layer_norm: dimensions x.-1 and weight.-1 differ | equal dimensions | 5 and 4");
  EXPECT_EQ(failure("layer_norm", {x, tensor({5}), tensor({c, 5})}),
            "layer_norm: argument 'bias' has the wrong rank | 1 dimensions | Tensor((c, 5), f32)");
  EXPECT_EQ(failure("layer_norm", {tensor({5}), tensor({c, 5}), tensor({c, 5})}),
            "layer_norm: argument 'x' has too few dimensions | at least 2 dimensions | "
            "Tensor((5,), f32)");
  EXPECT_EQ(failure("layer_norm", {x, tensor({}), tensor({})}),
            "layer_norm: argument 'weight' has too few dimensions | at least 1 dimension | "
            "Tensor((), f32)");
  EXPECT_EQ(deduced("instance_norm", {x, each, each}), "Tensor((n, c, 5), f16)");
  EXPECT_EQ(failure("instance_norm", {tensor({n, c}), each, each}),
            "instance_norm: argument 'x' has too few dimensions | at least 3 dimensions | "
            "Tensor((n, c), f32)");
  EXPECT_EQ(deduced("batch_norm", {x, each, each, each, each}), "Tensor((n, c, 5), f16)");
  EXPECT_EQ(
      failure("batch_norm", {tensor({n, 4}), tensor({4}), tensor({3}), tensor({4}), tensor({4})}),
      "batch_norm: dimensions x.1 and bias.0 differ | equal dimensions | 4 and 3");
  EXPECT_EQ(failure("batch_norm", {tensor({n, 4}, kI32), each, each, each, each}),
            "batch_norm: argument 'x' has the wrong dtype | a float dtype | i32");
  AttrMap two = {{"groups", int64_t{2}}};
  Expr six = tensor({n, 6, 5}), per = tensor({6});
  EXPECT_EQ(deduced("group_norm", {six, per, per}, two), "Tensor((n, 6, 5), f32)");
  EXPECT_EQ(deduced("group_norm", {tensor({n, c * 2}), tensor({c * 2}), tensor({c * 2})}, two),
            "Tensor((n, c*2), f32)");
  EXPECT_EQ(failure("group_norm", {six, per, per}, {{"groups", int64_t{4}}}),
            "group_norm: the channels do not divide into the groups | a multiple of 4 | 6");
  EXPECT_EQ(failure("group_norm", {six, per, per}, {{"groups", int64_t{0}}}),
            "group_norm: there is no group | 1 or more | 0");
}

TEST_F(Families, Creation) {
  auto range = [&](PrimExpr start, PrimExpr stop, int64_t step) {
    return deduced("arange", {relax::make_prim_value(start), relax::make_prim_value(stop)},
                   {{"step", step}});
  };
  EXPECT_EQ(range(2, 9, 3), "Tensor((3,), i64)");
  EXPECT_EQ(range(9, 2, -3), "Tensor((3,), i64)");
  EXPECT_EQ(range(9, 2, 1), "Tensor((0,), i64)");
  EXPECT_EQ(range(0, n, 1), "Tensor((n,), i64)");
  EXPECT_EQ(range(n, n + 4, 2), "Tensor((2,), i64)");
  EXPECT_EQ(failure("arange", {relax::make_prim_value(0), relax::make_prim_value(n)},
                    {{"step", int64_t{0}}}),
            "arange: the step is 0 | another integer | 0");
  EXPECT_EQ(
      failure("arange", {relax::make_prim_value(0), relax::make_prim_value(n)}, {{"dtype", kBool}}),
      "arange: bool is not a number | a float or integer dtype | bool");
  EXPECT_EQ(
      deduced("eye", {relax::make_prim_value(n), relax::make_prim_value(3)}, {{"dtype", kI8}}),
      "Tensor((n, 3), i8)");
  EXPECT_EQ(deduced("tril", {tensor({n, m}, kBool)}, {{"k", int64_t{-1}}}), "Tensor((n, m), bool)");
  EXPECT_EQ(failure("triu", {tensor({n})}),
            "triu: argument 'x' has too few dimensions | at least 2 dimensions | "
            "Tensor((n,), f32)");
  EXPECT_EQ(deduced("zeros_like", {tensor({n}, kU64)}), "Tensor((n,), u64)");
  EXPECT_EQ(deduced("ones_like", {tensor({n}, kU64)}, {{"dtype", kF16}}), "Tensor((n,), f16)");
  EXPECT_EQ(deduced("copy", {coarse(2)}), "Tensor(ndim=2, f32)");
  EXPECT_EQ(deduced("shape_of", {tensor({n, 4})}), "Shape((n, 4))");
  EXPECT_EQ(deduced("shape_of", {coarse(2)}), "Shape(ndim=2)");
}

}  // namespace
}  // namespace tapml::op
