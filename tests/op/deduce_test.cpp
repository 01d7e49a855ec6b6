// Deduction of every operator over symbolic, constant and coarse annotations, and its messages.
#include "deduce_case.h"

namespace tapml::op {
namespace {

using namespace testing;  // NOLINT: the calls of tests

class Deduce : public ::testing::Test {
 protected:
  Var n = make_size("n"), m = make_size("m"), b = make_size("b"), p = make_size("p");
};

TEST_F(Deduce, Unary) {
  EXPECT_EQ(deduced("silu", {tensor({n, 4})}), "Tensor((n, 4), f32)");
  EXPECT_EQ(deduced("exp", {coarse(2)}), "Tensor(ndim=2, f32)");
  EXPECT_EQ(deduced("exp", {value(relax::object_annotation())}), "Tensor()");
  EXPECT_EQ(deduced("negative", {tensor({3}, kI32)}), "Tensor((3,), i32)");
  EXPECT_EQ(deduced("exp", {tensor({3}, kI32)}), "Tensor((3,), f32)");
  EXPECT_EQ(deduced("cast", {tensor({n})}, {{"dtype", kBF16}}), "Tensor((n,), bf16)");
  EXPECT_EQ(deduced("cast", {coarse(-1)}, {{"dtype", kBF16}}), "Tensor(bf16)");
}

TEST_F(Deduce, IncompleteCalls) {
  EXPECT_EQ(failure("exp", {}), "exp: wrong number of arguments | 1 (x) | 0");
  EXPECT_EQ(failure("exp", {relax::make_shape({n})}),
            "exp: argument 'x' is of the wrong kind | a tensor | Shape((n,))");
  EXPECT_EQ(failure("reshape", {tensor({n}), tensor({n})}),
            "reshape: argument 'shape' is of the wrong kind | a shape | Tensor((n,), f32)");
  EXPECT_EQ(failure("cast", {tensor({n})}), "cast: attribute 'dtype' is missing | a dtype | ");
  EXPECT_EQ(failure("cast", {tensor({n})}, {{"dtype", int64_t{1}}}),
            "cast: attribute 'dtype' has the wrong type | a dtype | an integer");
  EXPECT_EQ(failure("sum", {tensor({n})}, {{"axis", int64_t{1}}}),
            "sum: no attribute is called 'axis' | axes, keepdims | axis");
  EXPECT_EQ(failure("exq", {tensor({n})}).substr(0, 44),
            "no operator is called 'exq' | an operator of");
}

TEST_F(Deduce, Binary) {
  EXPECT_EQ(deduced("add", {tensor({n, 4}), tensor({n, 4})}), "Tensor((n, 4), f32)");
  EXPECT_EQ(deduced("add", {tensor({b, n, 4}), tensor({n, 1})}), "Tensor((b, n, 4), f32)");
  EXPECT_EQ(deduced("add", {tensor({n, 4}), tensor({})}), "Tensor((n, 4), f32)");
  EXPECT_EQ(deduced("add", {tensor({n * 2 + 2}), tensor({(n + 1) * 2})}),
            "Tensor((n*2 + 2,), f32)");
  // n is 1 or 4, and the result is 4 either way; n and m are not comparable.
  EXPECT_EQ(deduced("multiply", {tensor({n}), tensor({4})}), "Tensor((4,), f32)");
  EXPECT_EQ(deduced("multiply", {tensor({n}), tensor({m})}), "Tensor(ndim=1, f32)");
  EXPECT_EQ(deduced("subtract", {tensor({n}, kBF16), tensor({n}, kF16)}), "Tensor((n,), f32)");
  EXPECT_EQ(deduced("subtract", {tensor({n}, kBF16), tensor({n}, kBF16)}), "Tensor((n,), bf16)");
  EXPECT_EQ(deduced("less", {tensor({n}), tensor({n})}), "Tensor((n,), bool)");
  EXPECT_EQ(deduced("where", {tensor({n, 1}, DType::kBool), tensor({4}, kI32), tensor({4}, kI32)}),
            "Tensor((n, 4), i32)");
  EXPECT_EQ(failure("add", {tensor({3, 4}), tensor({5})}),
            "add: shapes do not broadcast | equal dimensions, or one of them 1 | (3, 4) and (5,)");
  EXPECT_EQ(
      failure("add", {tensor({3}), tensor({3}, kI32)}),
      "add: operands have different dtypes | equal dtypes, or two float dtypes | f32 and i32");
  EXPECT_EQ(deduced("divide", {tensor({3}, kI32), tensor({3}, kI32)}), "Tensor((3,), f32)");
}

TEST_F(Deduce, Matmul) {
  EXPECT_EQ(deduced("matmul", {tensor({b, n, 64}), tensor({64, 8}, kBF16)}),
            "Tensor((b, n, 8), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({n, 64}), tensor({8, 64})}, {{"transpose_b", true}}),
            "Tensor((n, 8), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({b, 3, n}), tensor({b, n, m})}), "Tensor((b, 3, m), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({b, 1, 3, n}), tensor({5, n, m})}),
            "Tensor((b, 5, 3, m), f32)");
  EXPECT_EQ(deduced("matmul", {tensor({2, 3}, kF16), tensor({3, 4}, kF16)}), "Tensor((2, 4), f16)");
  EXPECT_EQ(deduced("matmul", {tensor({2, 3}, kF16), tensor({3, 4}, kF16)}, {{"out_dtype", kF32}}),
            "Tensor((2, 4), f32)");
  EXPECT_EQ(deduced("matmul", {coarse(3), tensor({3, 4})}), "Tensor(ndim=3, f32)");
  EXPECT_EQ(failure("matmul", {tensor({n, 4}), tensor({5, 8})}),
            "matmul: the reduced dimensions of a and b differ | 4 (from a) | 5 (from b)");
  EXPECT_EQ(failure("matmul", {tensor({n, m}), tensor({m + 1, 8})}),
            "matmul: the reduced dimensions of a and b differ | m (from a) | m + 1 (from b)");
  EXPECT_EQ(failure("matmul", {tensor({}), tensor({n, 8})}),
            "matmul: argument 'a' has too few dimensions | at least 1 dimension | "
            "Tensor((), f32)");
}

TEST_F(Deduce, Reductions) {
  EXPECT_EQ(deduced("sum", {tensor({n, 4, m})}), "Tensor((), f32)");
  EXPECT_EQ(deduced("mean", {tensor({n, 4, m})}, {{"axes", Ints{-1}}}), "Tensor((n, 4), f32)");
  EXPECT_EQ(deduced("max", {tensor({n, 4, m})}, {{"axes", Ints{2, 0}}, {"keepdims", true}}),
            "Tensor((1, 4, 1), f32)");
  EXPECT_EQ(deduced("sum", {coarse(3)}, {{"axes", Ints{1}}}), "Tensor(ndim=2, f32)");
  EXPECT_EQ(deduced("argmax", {tensor({n, 4})}), "Tensor((n,), i32)");
  EXPECT_EQ(failure("sum", {tensor({n, 4})}, {{"axes", Ints{2}}}),
            "sum: axis is outside the tensor | an axis from -2 to 1 | 2");
  EXPECT_EQ(failure("sum", {tensor({n, 4})}, {{"axes", Ints{1, -1}}}),
            "sum: an axis is given twice | distinct axes | 1");
  EXPECT_EQ(failure("argmax", {tensor({n, 0})}),
            "argmax: the axis has no elements | at least one element | 0");
}

TEST_F(Deduce, Normalization) {
  EXPECT_EQ(deduced("rms_norm", {tensor({b, n, 64}), tensor({64}, kBF16)}),
            "Tensor((b, n, 64), f32)");
  EXPECT_EQ(deduced("softmax", {tensor({b, n})}, {{"axis", int64_t{0}}}), "Tensor((b, n), f32)");
  EXPECT_EQ(failure("rms_norm", {tensor({b, n, 64}), tensor({32})}),
            "rms_norm: dimensions x.-1 and weight.0 differ | equal dimensions | 64 and 32");
}

TEST_F(Deduce, Layout) {
  Expr x = tensor({b, n, 64});
  EXPECT_EQ(deduced("reshape", {x, relax::make_shape({b, n, 4, 16})}),
            "Tensor((b, n, 4, 16), f32)");
  EXPECT_EQ(deduced("reshape", {x, relax::make_shape({b * n, 64})}), "Tensor((b*n, 64), f32)");
  EXPECT_EQ(deduced("reshape", {coarse(2), value(relax::shape_annotation_ndim(3))}),
            "Tensor(ndim=3, f32)");
  EXPECT_EQ(failure("reshape", {tensor({n, 6}), relax::make_shape({n + 1, 6})}),
            "reshape: the shapes hold different numbers of elements | n*6 elements, as (n, 6) | "
            "(n + 1, 6)");
  EXPECT_EQ(deduced("permute", {x}, {{"axes", Ints{1, 0, 2}}}), "Tensor((n, b, 64), f32)");
  EXPECT_EQ(failure("permute", {x}, {{"axes", Ints{1, 1, 2}}}),
            "permute: axes are not a permutation | each of the 3 axes once | [1, 1, 2]");
  Expr pair = relax::make_tuple({tensor({n, 3}), tensor({m, 3})});
  EXPECT_EQ(deduced("concat", {pair}, {{"axis", int64_t{0}}}), "Tensor((m + n, 3), f32)");
  EXPECT_EQ(failure("concat", {pair}, {{"axis", int64_t{-3}}}),
            "concat: axis is outside the tensor | an axis from -2 to 1 | -3");
  Expr odd = relax::make_tuple({tensor({n, 3}), tensor({n, 4})});
  EXPECT_EQ(failure("concat", {odd}, {{"axis", int64_t{0}}}),
            "concat: dimensions 1 of tensor 0 and tensor 1 differ | equal dimensions | 3 and 4");
}

TEST_F(Deduce, Split) {
  Expr x = tensor({n, 12});
  EXPECT_EQ(deduced("split", {x}, {{"axis", int64_t{1}}, {"sections", int64_t{2}}}),
            "Tuple(Tensor((n, 6), f32), Tensor((n, 6), f32))");
  EXPECT_EQ(deduced("split", {x}, {{"axis", int64_t{-1}}, {"sizes", Ints{8, 4}}}),
            "Tuple(Tensor((n, 8), f32), Tensor((n, 4), f32))");
  EXPECT_EQ(deduced("split", {tensor({n * 2})}, {{"axis", int64_t{0}}, {"sections", int64_t{2}}}),
            "Tuple(Tensor((n,), f32), Tensor((n,), f32))");
  EXPECT_EQ(failure("split", {x}, {{"axis", int64_t{1}}, {"sections", int64_t{5}}}),
            "split: the dimension does not divide into equal sections | a multiple of 5 | 12");
  EXPECT_EQ(failure("split", {x}, {{"axis", int64_t{1}}, {"sizes", Ints{8, 5}}}),
            "split: the sections do not add up to the dimension | 12 | 13");
  EXPECT_EQ(failure("split", {x}, {{"axis", int64_t{1}}}),
            "split: sections and sizes are both given or both missing | either sections > 0 or a "
            "list of sizes | "
            "sections=0, sizes=[]");
}

TEST_F(Deduce, Slice) {
  Expr x = tensor({b, n, 64});
  AttrMap middle = {{"axes", Ints{1}}};
  auto range = [&](PrimExpr begin, PrimExpr end) {
    return std::vector<Expr>{x, relax::make_shape({begin}), relax::make_shape({end})};
  };
  EXPECT_EQ(deduced("slice", range(n - 1, n), middle), "Tensor((b, 1, 64), f32)");
  EXPECT_EQ(deduced("slice", range(0, m), middle), "Tensor((b, m, 64), f32)");
  AttrMap last = {{"axes", Ints{2}}, {"strides", Ints{3}}};
  EXPECT_EQ(deduced("slice", range(0, 64), last), "Tensor((b, n, 22), f32)");
  EXPECT_EQ(failure("slice", range(0, n + 1), middle),
            "slice: the range of axis 1 is outside the tensor | 0 <= begin <= end <= n | "
            "0 to n + 1");
  EXPECT_EQ(failure("slice", range(3, 2), middle).substr(0, 46),
            "slice: the range of axis 1 is outside the tens");
  EXPECT_EQ(failure("slice", range(0, 1), {{"axes", Ints{1, 2}}}),
            "slice: begin does not have one entry per axis | 2 | 1");
}

TEST_F(Deduce, TakeAndFull) {
  Expr table = tensor({2000, 64}, kBF16), ids = tensor({b, n}, kI32);
  EXPECT_EQ(deduced("take", {table, ids}), "Tensor((b, n, 64), bf16)");
  EXPECT_EQ(deduced("take", {table, ids}, {{"out_dtype", kF32}}), "Tensor((b, n, 64), f32)");
  EXPECT_EQ(deduced("take", {table, ids}, {{"axis", int64_t{-1}}}), "Tensor((2000, b, n), bf16)");
  EXPECT_EQ(failure("take", {table, tensor({n})}),
            "take: indices have the wrong dtype | i32 or i64 | f32");
  EXPECT_EQ(deduced("full", {relax::make_shape({n, 3})}, {{"value", int64_t{0}}, {"dtype", kF32}}),
            "Tensor((n, 3), f32)");
}

TEST_F(Deduce, Rope) {
  Expr x = tensor({b, n, 4, 16}), lengths = tensor({b}, kI32);
  EXPECT_EQ(deduced("rope", {x, lengths, tensor({8})}), "Tensor((b, n, 4, 16), f32)");
  EXPECT_EQ(deduced("rope", {x, lengths, tensor({3})}), "Tensor((b, n, 4, 16), f32)");
  EXPECT_EQ(deduced("rope", {x, lengths, tensor({b, 8})}), "Tensor((b, n, 4, 16), f32)");
  EXPECT_EQ(failure("rope", {tensor({2, n, 4, 16}), tensor({2}, kI32), tensor({3, 8})}),
            "rope: dimensions x.0 and inv_freq.0 differ | equal dimensions | 2 and 3");
  EXPECT_EQ(failure("rope", {x, lengths, tensor({b, 16})}),
            "rope: of twice inv_freq.1 and x.3 the first is larger | at most 16 | 32");
  EXPECT_EQ(failure("rope", {x, lengths, tensor({b, 1, 8})}),
            "rope: argument 'inv_freq' has the wrong rank | 1 dimensions | Tensor((b, 1, 8), f32)");
  EXPECT_EQ(failure("rope", {x, lengths, tensor({16})}),
            "rope: of twice inv_freq.0 and x.3 the first is larger | at most 16 | 32");
  EXPECT_EQ(failure("rope", {x, tensor({b}), tensor({8})}),
            "rope: argument 'lengths' has the wrong dtype | i32 | f32");
  EXPECT_EQ(failure("rope", {tensor({b, n, 15}), lengths, tensor({8})}),
            "rope: argument 'x' has the wrong rank | 4 dimensions | Tensor((b, n, 15), f32)");
}

TEST_F(Deduce, PagedCache) {
  Expr pool = tensor({64, 16, 2, 8}), fresh = tensor({b, n, 2, 8}), q = tensor({b, n, 6, 8});
  Expr table = tensor({b, p}, kI32), lengths = tensor({b}, kI32);
  AttrMap scale = {{"scale", 0.5}};
  EXPECT_EQ(deduced("kv_append", {pool, fresh, table, lengths}), "Tensor((64, 16, 2, 8), f32)");
  EXPECT_EQ(deduced("paged_attention", {q, pool, pool, table, lengths}, scale),
            "Tensor((b, n, 6, 8), f32)");
  EXPECT_EQ(failure("kv_append", {pool, tensor({b, n, 3, 8}), table, lengths}),
            "kv_append: dimensions pool.2 and new.2 differ | equal dimensions | 2 and 3");
  EXPECT_EQ(failure("kv_append", {pool, tensor({2, n, 2, 8}), tensor({3, p}, kI32), lengths}),
            "kv_append: dimensions new.0 and page_table.0 differ | equal dimensions | 2 and 3");
  EXPECT_EQ(failure("paged_attention", {tensor({b, n, 5, 8}), pool, pool, table, lengths}, scale),
            "paged_attention: the query heads do not divide into groups | "
            "a multiple of 2 | 5");
  const auto with = [&](const char* name, AttrValue value) {
    AttrMap attrs = scale;
    attrs[name] = std::move(value);
    return attrs;
  };
  EXPECT_EQ(
      failure("paged_attention", {q, pool, pool, table, lengths}, with("window", int64_t{-1})),
      "paged_attention: the window is negative | 0 (none) or a number of tokens | -1");
  EXPECT_EQ(failure("paged_attention", {q, pool, pool, table, lengths}, with("chunk", int64_t{-2})),
            "paged_attention: the chunk is negative | 0 (none) or a number of tokens | -2");
  EXPECT_EQ(
      failure("paged_attention", {q, pool, pool, table, lengths}, with("soft_cap", -0.5)),
      "paged_attention: the soft cap is negative | 0 (none) or the largest score | -0.500000");
  EXPECT_EQ(failure("paged_attention", {q, pool, pool, table, lengths}),
            "paged_attention: attribute 'scale' is missing | a number | ");
  const Expr wide = tensor({64, 16, 2, 12});
  EXPECT_EQ(deduced("paged_attention", {q, pool, wide, table, lengths}, scale),
            "Tensor((b, n, 6, 12), f32)");
  EXPECT_EQ(
      deduced("paged_attention", {q, pool, wide, table, lengths}, with("value_width", int64_t{5})),
      "Tensor((b, n, 6, 5), f32)");
  EXPECT_EQ(
      failure("paged_attention", {q, pool, pool, table, lengths}, with("value_width", int64_t{9})),
      "paged_attention: v_pool.3 is not known to be as large as value_width | at least 9 | 8");
  EXPECT_EQ(
      failure("paged_attention", {q, pool, pool, table, lengths}, with("value_width", int64_t{-1})),
      "paged_attention: the width of values is negative | 0 (all of v_pool.3) or a number of "
      "elements | -1");
  const char* sinks = "paged_attention_with_sinks";
  EXPECT_EQ(deduced(sinks, {q, pool, pool, table, lengths, tensor({6})}, scale),
            "Tensor((b, n, 6, 8), f32)");
  EXPECT_EQ(failure(sinks, {q, pool, pool, table, lengths, tensor({2})}, scale),
            "paged_attention_with_sinks: dimensions q.2 and sinks.0 differ | equal dimensions | 6 "
            "and 2");
  EXPECT_EQ(
      failure("paged_attention_with_slopes", {q, pool, pool, table, lengths, tensor({2})}, scale),
      "paged_attention_with_slopes: dimensions q.2 and slopes.0 differ | equal dimensions | 6 "
      "and 2");
  const char* ahead = "paged_attention_ahead";
  EXPECT_EQ(deduced(ahead, {q, pool, pool, table, lengths, tensor({b, n}, kI32)}, scale),
            "Tensor((b, n, 6, 8), f32)");
  EXPECT_EQ(failure(ahead, {q, pool, pool, table, lengths, tensor({b, n})}, scale),
            "paged_attention_ahead: argument 'ahead' has the wrong dtype | i32 | f32");
  EXPECT_EQ(
      failure(ahead, {tensor({b, 3, 6, 8}), pool, pool, table, lengths, tensor({b, 4}, kI32)},
              scale),
      "paged_attention_ahead: dimensions q.1 and ahead.1 differ | equal dimensions | 3 and 4");
}

// Legalization names the information that it needs.
TEST_F(Deduce, LegalizationNeedsKnownShapes) {
  Expr call = relax::make_op_call("exp", {coarse(2)});
  CallView view = view_call(*relax::as<relax::CallNode>(call));
  try {
    view.info.legalize(view);
    FAIL();
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser);
    EXPECT_EQ(e.error().message, "exp: argument 'x' is not known well enough");
  }
}

// Parameters: arguments in order, then outputs; every symbolic variable is a scalar.
TEST_F(Deduce, LegalizedSignature) {
  Expr call = relax::make_op_call(
      "slice", {tensor({b, n, 4}), relax::make_shape({m}), relax::make_shape({m + 2})},
      {{"axes", Ints{1}}});
  CallView view = view_call(*relax::as<relax::CallNode>(call));
  tir::PrimFuncRef func = view.info.legalize(view);
  ASSERT_EQ(func->params.size(), 2u);
  EXPECT_EQ(func->params[0].mode, AccessMode::kIn);
  EXPECT_EQ(func->params[1].mode, AccessMode::kOut);
  ASSERT_EQ(func->scalars.size(), 3u);
  EXPECT_TRUE(func->scalars[0].same_as(b));
  EXPECT_TRUE(func->scalars[1].same_as(n));
  EXPECT_TRUE(func->scalars[2].same_as(m));

  call = relax::make_op_call("kv_append", {tensor({64, 16, 2, 8}), tensor({b, n, 2, 8}),
                                           tensor({b, p}, kI32), tensor({b}, kI32)});
  CallView append = view_call(*relax::as<relax::CallNode>(call));
  func = append.info.legalize(append);
  ASSERT_EQ(func->params.size(), 4u);
  EXPECT_EQ(func->params[0].mode, AccessMode::kInOut);
  EXPECT_EQ(func->params[3].mode, AccessMode::kIn);
}

TEST_F(Deduce, LevelsOfFewBits) {
  const auto of = [&](Dims packed, Dims scales, AttrMap attrs, DType dtype = DType::kU8) {
    return std::pair{std::vector<Expr>{tensor(std::move(packed), dtype), tensor(std::move(scales))},
                     std::move(attrs)};
  };
  const auto result = [](auto call) { return deduced("dequantize", call.first, call.second); };
  const auto refused = [](auto call) { return failure("dequantize", call.first, call.second); };
  EXPECT_EQ(result(of({n, 16}, {n, 1}, {})), "Tensor((n, 32), f32)");
  EXPECT_EQ(result(of({n, 8}, {n, 1}, {{"bits", int64_t{2}}})), "Tensor((n, 32), f32)");
  EXPECT_EQ(result(of({n, 12}, {n, 1}, {{"bits", int64_t{3}}})), "Tensor((n, 32), f32)");
  EXPECT_EQ(result(of({n, 32}, {n, 1}, {{"bits", int64_t{8}}}, kI8)), "Tensor((n, 32), f32)");
  EXPECT_EQ(refused(of({n, 32}, {n, 1}, {{"bits", int64_t{7}}})),
            "dequantize: levels in u8 have 2 to 6 bits | bits from 2 to 6 | 7");
  EXPECT_EQ(refused(of({n, 32}, {n, 1}, {{"bits", int64_t{4}}}, kI8)),
            "dequantize: levels in i8 have 8 bits | bits 8 | 4");
  EXPECT_NE(refused(of({n, 16}, {n, 1}, {{"bits", int64_t{3}}}))
                .find("packed.-1 * 8 and scales.-1 * group * 3"),
            std::string::npos);
}

}  // namespace
}  // namespace tapml::op
