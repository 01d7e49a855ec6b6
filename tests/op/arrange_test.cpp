// Deduction and errors of the operators that move, read and write elements.
#include "deduce_case.h"

namespace tapml::op {
namespace {

using namespace testing;  // NOLINT: the calls of tests

class Arrange : public ::testing::Test {
 protected:
  Var b = make_size("b"), n = make_size("n"), m = make_size("m");
  static AttrMap axis(int64_t value) { return {{"axis", value}}; }
};

TEST_F(Arrange, Shapes) {
  Expr x = tensor({b, n, 1, 4});
  EXPECT_EQ(deduced("expand_dims", {x}, {{"axes", Ints{0, -1}}}),
            "Tensor((1, b, n, 1, 4, 1), f32)");
  EXPECT_EQ(failure("expand_dims", {x}, {{"axes", Ints{1, -5}}}),
            "expand_dims: an axis is given twice | distinct axes | 1");
  EXPECT_EQ(deduced("squeeze", {x}, {{"axes", Ints{-2}}}), "Tensor((b, n, 4), f32)");
  EXPECT_EQ(failure("squeeze", {x}, {{"axes", Ints{3}}}),
            "squeeze: dimensions x.3 and 1 differ | equal dimensions | 4 and 1");
  EXPECT_EQ(failure("squeeze", {x}, {{"axes", Ints{4}}}),
            "squeeze: axis is outside the tensor | an axis from -4 to 3 | 4");
  EXPECT_EQ(deduced("flatten", {x}), "Tensor((b*n*4,), f32)");
  EXPECT_EQ(deduced("flatten", {x}, {{"start_axis", int64_t{2}}}), "Tensor((b, n, 4), f32)");
  EXPECT_EQ(deduced("flatten", {tensor({})}), "Tensor((1,), f32)");
  EXPECT_EQ(failure("flatten", {x}, {{"start_axis", int64_t{2}}, {"end_axis", int64_t{1}}}),
            "flatten: the last axis is before the first | start_axis <= end_axis | 2 to 1");
  EXPECT_EQ(deduced("broadcast_to", {tensor({n, 1}), relax::make_shape({b, n, 7})}),
            "Tensor((b, n, 7), f32)");
  EXPECT_EQ(failure("broadcast_to", {tensor({3, 2}), relax::make_shape({3, 4})}),
            "broadcast_to: dimensions x.1 and shape.1 differ | equal dimensions | "
            "2 and 4");
  EXPECT_EQ(failure("broadcast_to", {tensor({3, 2}), relax::make_shape({2})}),
            "broadcast_to: the result has a lower rank than x | at least 2 dimensions | (2,)");
}

TEST_F(Arrange, Order) {
  Expr x = tensor({n, 4}, DType::kU8);
  EXPECT_EQ(deduced("flip", {x}), "Tensor((n, 4), u8)");
  EXPECT_EQ(failure("flip", {x}, {{"axes", Ints{0, -2}}}),
            "flip: an axis is given twice | distinct axes | 0");
  EXPECT_EQ(deduced("roll", {x}, {{"shifts", Ints{-1}}}), "Tensor((n, 4), u8)");
  EXPECT_EQ(failure("roll", {x}, {{"shifts", Ints{1, 2}}, {"axes", Ints{0}}}),
            "roll: shifts does not have one entry per axis | 1 shifts | [1, 2]");
  EXPECT_EQ(deduced("tile", {x}, {{"repeats", Ints{2, 3, 1}}}), "Tensor((2, n*3, 4), u8)");
  EXPECT_EQ(failure("tile", {x}, {{"repeats", Ints{-1}}}),
            "tile: a number of copies is negative | at least 0 | [-1]");
  EXPECT_EQ(deduced("repeat", {x}, {{"repeats", int64_t{3}}, {"axis", int64_t{-2}}}),
            "Tensor((n*3, 4), u8)");
  Expr pair = relax::make_tuple({tensor({n, 3}), tensor({n, 3})});
  EXPECT_EQ(deduced("stack", {pair}, axis(-1)), "Tensor((n, 3, 2), f32)");
  EXPECT_EQ(failure("stack", {relax::make_tuple({tensor({3}), tensor({4})})}, axis(0)),
            "stack: dimensions 0 of tensor 0 and tensor 1 differ | equal dimensions | 3 and 4");
  EXPECT_EQ(failure("stack", {pair}, axis(3)),
            "stack: axis is outside the tensor | an axis from -3 to 2 | 3");
  EXPECT_EQ(deduced("swap_axes", {x}, {{"axis1", int64_t{0}}, {"axis2", int64_t{-1}}}),
            "Tensor((4, n), u8)");
  EXPECT_EQ(deduced("move_axis", {tensor({n, m, 4})},
                    {{"source", int64_t{0}}, {"destination", int64_t{-1}}}),
            "Tensor((m, 4, n), f32)");
}

TEST_F(Arrange, StridedSliceReadsBoundsAsNumPy) {
  auto slice = [&](PrimExpr dim, PrimExpr begin, PrimExpr end, int64_t stride) {
    return deduced("strided_slice",
                   {tensor({dim}), relax::make_shape({begin}), relax::make_shape({end})},
                   {{"strides", Ints{stride}}});
  };
  EXPECT_EQ(slice(10, 2, -1, 3), "Tensor((3,), f32)");
  EXPECT_EQ(slice(10, -3, 100, 1), "Tensor((3,), f32)");
  EXPECT_EQ(slice(10, 7, 2, 1), "Tensor((0,), f32)");
  EXPECT_EQ(slice(10, 100, -11, -1), "Tensor((10,), f32)");
  EXPECT_EQ(slice(10, -1, 4, -2), "Tensor((3,), f32)");
  EXPECT_EQ(slice(0, 0, 5, 1), "Tensor((0,), f32)");
  EXPECT_EQ(slice(n, 0, n, 1), "Tensor((n,), f32)");
  // For a bound of unknown sign, either interpretation may be correct.
  const Var k = make_var("k");
  EXPECT_EQ(slice(10, k, 10, 1),
            "Tensor((max(10 - select(k < 0, max(k + 10, 0), min(k, 10)), 0),), f32)");
  std::vector<Expr> plain = {tensor({n}), relax::make_shape({0}), relax::make_shape({n})};
  EXPECT_EQ(failure("strided_slice", plain, {{"strides", Ints{0}}}),
            "strided_slice: a stride is out of range | positive or negative strides | 0");
  EXPECT_EQ(failure("strided_slice", plain, {{"axes", Ints{1}}}),
            "strided_slice: axis is outside the tensor | an axis from -1 to 0 | 1");
}

TEST_F(Arrange, Regions) {
  Expr x = tensor({n, 8});
  EXPECT_EQ(deduced("dynamic_slice", {x, tensor({2}, kI32), relax::make_shape({3, 8})}),
            "Tensor((3, 8), f32)");
  EXPECT_EQ(failure("dynamic_slice", {x, tensor({2}, kI32), relax::make_shape({3, 9})}),
            "dynamic_slice: of sizes.1 and x.1 the first is larger | at most 8 | 9");
  EXPECT_EQ(failure("dynamic_slice", {x, tensor({2}), relax::make_shape({3, 8})}),
            "dynamic_slice: starts have the wrong dtype | i32 or i64 | f32");
  EXPECT_EQ(failure("dynamic_slice", {x, tensor({3}, kI32), relax::make_shape({3, 8})}),
            "dynamic_slice: dimensions starts.0 and the rank of x differ | equal dimensions | "
            "3 and 2");
  EXPECT_EQ(deduced("dynamic_update_slice", {x, tensor({m, 2}), tensor({2}, kI64)}),
            "Tensor((n, 8), f32)");
  EXPECT_EQ(failure("dynamic_update_slice", {x, tensor({m, 2}, kF16), tensor({2}, kI64)}),
            "dynamic_update_slice: the update has a different dtype than x | f32 | f16");
  EXPECT_EQ(deduced("pad", {x}, {{"widths", Ints{1, 2, 0, 3}}}), "Tensor((n + 3, 11), f32)");
  EXPECT_EQ(failure("pad", {x}, {{"widths", Ints{1, 2}}}),
            "pad: widths does not have two entries per axis | 4 | 2");
  EXPECT_EQ(failure("pad", {x}, {{"widths", Ints{1, 2, 0, -1}}}),
            "pad: a width is negative | widths of at least 0 | [1, 2, 0, -1]");
  EXPECT_EQ(failure("pad", {x}, {{"widths", Ints{0, 0, 0, 0}}, {"mode", std::string("wrap")}}),
            "pad: no padding mode is called 'wrap' | constant, edge, reflect or circular | wrap");
  EXPECT_EQ(deduced("depth_to_space", {tensor({b, 12, n, 5})}, {{"block", int64_t{2}}}),
            "Tensor((b, 3, n*2, 10), f32)");
  EXPECT_EQ(failure("depth_to_space", {tensor({b, 6, n, 5})}, {{"block", int64_t{2}}}),
            "depth_to_space: x.1 does not divide into blocks | a multiple of 4 | 6");
}

TEST_F(Arrange, Indices) {
  Expr x = tensor({n, 5, m}, kF16);
  EXPECT_EQ(deduced("take", {x, tensor({7, b}, kI64)}, axis(1)), "Tensor((n, 7, b, m), f16)");
  EXPECT_EQ(failure("take", {x, tensor({7}, DType::kU8)}),
            "take: indices have the wrong dtype | i32 or i64 | u8");
  EXPECT_EQ(failure("take", {x, tensor({7}, kI32)}, axis(3)),
            "take: axis is outside the tensor | an axis from -3 to 2 | 3");
  EXPECT_EQ(deduced("gather", {x, tensor({n, 2, m}, kI32)}, axis(-2)), "Tensor((n, 2, m), f16)");
  EXPECT_EQ(failure("gather", {tensor({2, 5}), tensor({3, 5}, kI32)}, axis(1)),
            "gather: of indices.0 and x.0 the first is larger | at most 2 | 3");
  EXPECT_EQ(deduced("gather_nd", {x, tensor({b, 2}, kI32)}), "Tensor((b, m), f16)");
  EXPECT_EQ(failure("gather_nd", {x, tensor({b, 4}, kI32)}),
            "gather_nd: the last dimension of the indices is not a number of axes of x | "
            "a constant of at most 3 | 4");
  EXPECT_EQ(deduced("one_hot", {tensor({n}, kI32)}, {{"depth", int64_t{9}}}),
            "Tensor((n, 9), f32)");
  EXPECT_EQ(failure("one_hot", {tensor({n}, kI32)}, {{"depth", int64_t{-1}}}),
            "one_hot: the depth is negative | at least 0 | -1");
}

TEST_F(Arrange, Writes) {
  Expr x = tensor({n, 5}), indices = tensor({n, 2}, kI32), updates = tensor({n, 2});
  EXPECT_EQ(deduced("scatter", {x, indices, updates}, axis(1)), "Tensor((n, 5), f32)");
  EXPECT_EQ(failure("scatter", {x, indices, tensor({n, 3})}, axis(1)),
            "scatter: dimensions indices.1 and updates.1 differ | equal dimensions | 2 and 3");
  EXPECT_EQ(failure("scatter", {x, indices, tensor({n, 2}, kF16)}, axis(1)),
            "scatter: updates have a different dtype than x | f32 | f16");
  Expr flags = tensor({n, 5}, DType::kBool);
  EXPECT_EQ(failure("scatter_add", {flags, indices, tensor({n, 2}, DType::kBool)}, axis(1)),
            "scatter_add: argument 'x' has the wrong dtype | a float or integer dtype | bool");
  EXPECT_EQ(deduced("scatter_nd", {x, tensor({b, 1}, kI64), tensor({b, 5})}),
            "Tensor((n, 5), f32)");
  EXPECT_EQ(failure("scatter_nd", {x, tensor({b, 1}, kI64), tensor({b, 4})}),
            "scatter_nd: dimensions updates.1 and the written slices differ | equal dimensions | "
            "4 and 5");
  Expr rows = relax::make_tuple({tensor({b}, kI32)});
  EXPECT_EQ(deduced("index_put", {x, tensor({b, 1}), rows}), "Tensor((n, 5), f32)");
  Expr many = relax::make_tuple({tensor({3}, kI32), tensor({3}, kI32), tensor({3}, kI32)});
  EXPECT_EQ(failure("index_put", {x, tensor({3}), many}),
            "index_put: the number of index tensors is out of range | 1 to 2 | "
            "3");
  Expr wrong = relax::make_tuple({tensor({3}, kF32)});
  EXPECT_EQ(failure("index_put", {x, tensor({3, 5}), wrong}),
            "index_put: indices 0 have the wrong dtype | i32 or i64 | f32");
}

TEST_F(Arrange, Sorting) {
  Expr x = tensor({n, 5}, kF16);
  EXPECT_EQ(deduced("sort", {x}), "Tensor((n, 5), f16)");
  EXPECT_EQ(deduced("argsort", {x}, axis(0)), "Tensor((n, 5), i32)");
  EXPECT_EQ(failure("sort", {tensor({})}),
            "sort: argument 'x' has too few dimensions | at least 1 dimension | Tensor((), f32)");
  EXPECT_EQ(deduced("topk", {x}, {{"k", int64_t{3}}}),
            "Tuple(Tensor((n, 3), f16), Tensor((n, 3), i32))");
  EXPECT_EQ(failure("topk", {x}, {{"k", int64_t{6}}}),
            "topk: of k and the extent of the axis the first is larger | at most 5 | 6");
  EXPECT_EQ(failure("topk", {x}, {{"k", int64_t{-1}}}), "topk: k is negative | at least 0 | -1");
  EXPECT_EQ(deduced("searchsorted", {tensor({n}), tensor({3, m})}), "Tensor((3, m), i32)");
  EXPECT_EQ(failure("searchsorted", {tensor({2, n}), tensor({3, m})}),
            "searchsorted: dimensions sorted.0 and values.0 differ | equal dimensions | 2 and 3");
  EXPECT_EQ(failure("searchsorted", {tensor({n}), tensor({3}, kF16)}),
            "searchsorted: values have a different dtype than the sorted elements | f32 | f16");
}

TEST_F(Arrange, DataDependentSizes) {
  Expr x = tensor({n, 5}, kF16);
  EXPECT_EQ(deduced("nonzero", {x}), "Tensor(ndim=2, i32)");
  EXPECT_EQ(deduced("nonzero_count", {x}), "Tensor((1,), i32)");
  EXPECT_EQ(deduced("nonzero_fill", {x, relax::make_shape({m})}), "Tensor((m, 2), i32)");
  EXPECT_EQ(failure("nonzero_fill", {x, relax::make_shape({-1})}),
            "nonzero_fill: the count is negative | at least 0 | -1");
  EXPECT_EQ(deduced("unique", {x}),
            "Tuple(Tensor(ndim=1, f16), Tensor((n, 5), i32), Tensor(ndim=1, i32))");
  EXPECT_EQ(deduced("tensor_to_shape", {tensor({3}, kI64)}), "Shape(ndim=3)");
  EXPECT_EQ(
      failure("tensor_to_shape", {x}),
      "tensor_to_shape: the argument is not a list of integers | an integer tensor of rank 1 | "
      "Tensor((n, 5), f16)");
}

TEST_F(Arrange, IndicesAndCountsFitI32) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const std::string beyond = " exceeds the range of i32 | at most 2147483647 | 2147483648";
  Expr large = tensor({kMost + 1}), most = tensor({kMost});
  for (const char* op : {"argmax", "argmin", "argsort", "sort"}) {
    EXPECT_EQ(failure(op, {large}), std::string(op) + ": the extent of the axis" + beyond);
    EXPECT_FALSE(deduced(op, {most}).empty());
    EXPECT_FALSE(deduced(op, {tensor({n})}).empty()) << "checked when it runs";
  }
  EXPECT_EQ(deduced("argmax", {tensor({kMost + 1, 4})}, {{"axis", int64_t{1}}}),
            "Tensor((2147483648,), i32)");
  EXPECT_EQ(failure("topk", {large}, {{"k", int64_t{2}}}), "topk: the extent of the axis" + beyond);
  EXPECT_EQ(failure("searchsorted", {large, tensor({3})}),
            "searchsorted: the number of sorted elements" + beyond);
  EXPECT_EQ(failure("nonzero_count", {tensor({65536, 32768})}),
            "nonzero_count: the number of elements" + beyond);
}

}  // namespace
}  // namespace tapml::op
