// Every operator's tensor program against its reference, around the edge cases of shapes and
// dtypes.
#include <cmath>

#include "operator_case.h"
#include "support/dtypes.h"

namespace tapml::testing {
namespace {

constexpr DType kFloatTypes[] = {kF32, kF16, kBF16};
using Ints = std::vector<int64_t>;

HostTensor i32_tensor(Shape shape, const std::vector<double>& values) {
  return tensor_of(DType::kI32, std::move(shape), values);
}

TEST(Operators, UnaryFunctions) {
  for (const char* name : {"negative", "exp", "sigmoid", "silu", "tanh", "sin", "cos"}) {
    for (DType dtype : kFloatTypes) {
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{17}, Shape{3, 5, 2}}) {
        expect_within_bounds({name, {random_tensor(dtype, shape, name, -20, 20)}, {}});
      }
    }
  }
  for (const char* name : {"sqrt", "rsqrt"}) {
    for (DType dtype : kFloatTypes) {
      expect_within_bounds({name, {random_tensor(dtype, {33}, name, 0.001, 50)}, {}});
    }
  }
  expect_within_bounds({"negative", {random_tensor(DType::kI32, {7}, "i", -50, 50)}, {}});
}

TEST(Operators, UnaryFunctionsOutsideTheUsualRange) {
  HostTensor far = tensor_of(
      kF32, {12}, {-300, -104, -103, -89, -88.5, -87, 87, 88.5, 89, 300, -INFINITY, INFINITY});
  for (const char* name : {"exp", "sigmoid", "tanh"}) expect_within_bounds({name, {far}, {}});
  HostTensor finite = tensor_of(kF32, {10}, {-300, -104, -103, -89, -88.5, -87, 87, 88.5, 89, 300});
  expect_within_bounds({"silu", {finite}, {}});
  // 65520 rounds to infinity in f16, 65519 to 65504.
  HostTensor near_limit = tensor_of(kF32, {4}, {65504, 65519, 65520, 70000});
  expect_within_bounds({"cast", {near_limit}, {{"dtype", kF16}}});
}

TEST(Operators, Cast) {
  for (DType to : {kF32, kF16, kBF16, DType::kI32, DType::kI64, DType::kBool, DType::kF64}) {
    for (DType from : {kF32, kF16, kBF16, DType::kI32, DType::kI64, DType::kBool}) {
      expect_within_bounds({"cast", {random_tensor(from, {2, 9}, "cast", -7, 7)}, {{"dtype", to}}});
    }
  }
}

TEST(Operators, BinaryFunctionsBroadcast) {
  struct Shapes {
    Shape a, b;
  };
  const Shapes shapes[] = {
      {{}, {}},         {{0}, {0}},          {{17}, {17}},          {{3, 5}, {5}},
      {{5}, {3, 5}},    {{3, 1, 4}, {2, 1}}, {{2, 3, 4}, {}},       {{1, 1}, {7, 6}},
      {{4, 1}, {1, 3}}, {{0, 3}, {1, 3}},    {{2, 0, 1}, {2, 1, 5}}};
  for (const char* name : {"add", "subtract", "multiply", "divide", "maximum", "minimum", "greater",
                           "less", "equal"}) {
    for (const Shapes& s : shapes) {
      HostTensor a = random_tensor(kF32, s.a, "a", -3, 3);
      expect_within_bounds({name, {a, random_tensor(kF32, s.b, "b", 0.5, 3)}, {}});
    }
    HostTensor a = random_tensor(kF16, {9}, "a", -3, 3), b = random_tensor(kBF16, {9}, "b", 1, 3);
    expect_within_bounds({name, {a, b}, {}});
    expect_within_bounds({name, {a, a}, {}});
    expect_within_bounds({name, {random_tensor(kF32, {2, 9}, "f", -3, 3), b}, {}});
  }
  for (const char* name : {"add", "subtract", "multiply", "maximum", "minimum", "equal"}) {
    HostTensor a = random_tensor(DType::kI32, {9}, "a", -9, 9);
    HostTensor b = random_tensor(DType::kI32, {3, 1}, "b", -9, 9);
    expect_within_bounds({name, {a, b}, {}});
  }
}

TEST(Operators, Where) {
  HostTensor condition = random_tensor(DType::kBool, {3, 1}, "c", 0, 2);
  for (DType dtype : {kF32, kBF16, DType::kI32}) {
    HostTensor a = random_tensor(dtype, {4}, "a", -9, 9);
    HostTensor b = random_tensor(dtype, {2, 3, 4}, "b", -9, 9);
    expect_within_bounds({"where", {condition, a, b}, {}});
  }
}

TEST(Operators, Matmul) {
  struct Shapes {
    Shape a, b;
  };
  const Shapes shapes[] = {{{1, 1}, {1, 1}},       {{1, 17}, {17, 33}},       {{5, 3}, {3, 7}},
                           {{0, 4}, {4, 3}},       {{2, 0}, {0, 3}},          {{2, 3, 16}, {16, 5}},
                           {{2, 3, 4}, {2, 4, 5}}, {{2, 1, 3, 4}, {3, 4, 2}}, {{3, 4}, {2, 4, 5}},
                           {{64, 65}, {65, 3}}};
  for (const Shapes& s : shapes) {
    for (bool transposed : {false, true}) {
      Shape b = s.b;
      if (transposed) std::swap(b[b.size() - 1], b[b.size() - 2]);
      AttrMap attrs = {{"transpose_b", transposed}};
      HostTensor f32 = random_tensor(kF32, s.a, "a");
      expect_within_bounds({"matmul", {f32, random_tensor(kF32, b, "b")}, attrs});
      expect_within_bounds({"matmul", {f32, random_tensor(kBF16, b, "b")}, attrs});
      expect_within_bounds(
          {"matmul", {random_tensor(kF16, s.a, "a"), random_tensor(kF16, b, "b")}, attrs});
    }
  }
  HostTensor a = random_tensor(kBF16, {3, 9}, "a"), b = random_tensor(kBF16, {9, 2}, "b");
  for (DType out : {kF32, kBF16, kF16}) {
    expect_within_bounds({"matmul", {a, b}, {{"out_dtype", out}}});
  }
}

TEST(Operators, Reductions) {
  for (const char* name : {"sum", "mean", "max"}) {
    for (DType dtype : kFloatTypes) {
      HostTensor x = random_tensor(dtype, {3, 17, 2}, name, -4, 4);
      for (const Ints& axes : {Ints{}, Ints{1}, Ints{-1}, Ints{0, 2}, Ints{2, -2}}) {
        for (bool keep : {false, true}) {
          expect_within_bounds({name, {x}, {{"axes", axes}, {"keepdims", keep}}});
        }
      }
    }
  }
  for (const char* name : {"sum", "max"}) {
    expect_within_bounds({name, {random_tensor(kF32, {3, 0}, "e")}, {{"axes", Ints{1}}}});
    expect_within_bounds({name, {random_tensor(DType::kI32, {3, 5}, "e", -9, 9)}, {}});
  }
  expect_within_bounds({"sum", {random_tensor(kF32, {0, 3}, "e")}, {{"axes", Ints{1}}}});
}

TEST(Operators, ArgmaxTakesTheLowestIndexOfATie) {
  HostTensor x = tensor_of(kF32, {3, 4}, {1, 5, 5, 2, -3, -3, -3, -3, 0, -1, 7, 7});
  OperatorCase test{"argmax", {x}, {}};
  expect_within_bounds(test);
  std::vector<HostTensor> found = run_legalized(test, true);
  EXPECT_EQ(found[0].at_f64(0), 1);
  EXPECT_EQ(found[0].at_f64(1), 0);
  EXPECT_EQ(found[0].at_f64(2), 2);
  for (int64_t axis : {0, 1, -1}) {
    expect_within_bounds({"argmax",
                          {random_tensor(kBF16, {5, 17, 3}, "argmax")},
                          {{"axis", axis}, {"keepdims", axis == 0}}});
  }
}

TEST(Operators, RmsNorm) {
  for (DType dtype : kFloatTypes) {
    for (const Shape& shape : {Shape{1}, Shape{17}, Shape{3, 64}, Shape{2, 3, 5}, Shape{0, 4}}) {
      HostTensor x = random_tensor(dtype, shape, "x", -2, 2);
      HostTensor weight = random_tensor(kBF16, {shape.back()}, "w", 0, 2);
      expect_within_bounds({"rms_norm", {x, weight}, {{"epsilon", 1e-6}}});
    }
  }
  HostTensor zero = HostTensor::zeros(kF32, {2, 8});
  expect_within_bounds({"rms_norm", {zero, random_tensor(kF32, {8}, "w")}, {}});
}

TEST(Operators, Softmax) {
  for (DType dtype : kFloatTypes) {
    for (int64_t axis : {-1, 0, 1}) {
      expect_within_bounds({"softmax",
                            {random_tensor(dtype, {3, 17}, "x", -20, 20)},
                            {{"axis", axis == -1 ? -1 : axis}}});
    }
  }
  expect_within_bounds({"softmax", {random_tensor(kF32, {1, 1}, "x")}, {}});
}

TEST(Operators, Reshape) {
  struct Shapes {
    Shape from, to;
  };
  const Shapes shapes[] = {{{6, 4}, {3, 8}},      {{2, 12}, {2, 3, 4}},
                           {{2, 3, 4}, {2, 12}},  {{24}, {2, 3, 4}},
                           {{2, 3, 4}, {24}},     {{1}, {}},
                           {{}, {1, 1}},          {{5, 1, 7}, {5, 7}},
                           {{0, 3}, {3, 0}},      {{2, 3, 4, 5}, {2, 4, 3, 5}},
                           {{2, 2, 9}, {4, 3, 3}}};
  for (const Shapes& s : shapes) {
    expect_within_bounds({"reshape", {random_tensor(kF32, s.from, "x"), s.to}, {}});
  }
}

TEST(Operators, PermuteConcatSplitSlice) {
  HostTensor x = random_tensor(kBF16, {2, 3, 5, 4}, "x");
  for (const Ints& axes :
       {Ints{0, 1, 2, 3}, Ints{0, 2, 1, 3}, Ints{3, 2, 1, 0}, Ints{-1, 0, 1, 2}}) {
    expect_within_bounds({"permute", {x}, {{"axes", axes}}});
  }
  std::vector<HostTensor> parts = {random_tensor(kF32, {2, 3, 2}, "p"),
                                   random_tensor(kF32, {2, 0, 2}, "q"),
                                   random_tensor(kF32, {2, 5, 2}, "r")};
  expect_within_bounds({"concat", {parts}, {{"axis", int64_t{1}}}});
  expect_within_bounds({"concat", {std::vector<HostTensor>{parts[0]}}, {{"axis", int64_t{-1}}}});
  HostTensor y = random_tensor(DType::kI32, {3, 12}, "y", -9, 9);
  expect_within_bounds({"split", {y}, {{"axis", int64_t{1}}, {"sections", int64_t{3}}}});
  expect_within_bounds({"split", {y}, {{"axis", int64_t{-1}}, {"sizes", Ints{5, 0, 7}}}});
  expect_within_bounds({"slice", {y, Ints{0, 2}, Ints{3, 11}}, {}});
  expect_within_bounds(
      {"slice", {y, Ints{2}, Ints{11}}, {{"axes", Ints{-1}}, {"strides", Ints{4}}}});
  expect_within_bounds({"slice", {y, Ints{2}, Ints{3}}, {{"axes", Ints{0}}}});
  expect_within_bounds({"slice", {y, Ints{2}, Ints{2}}, {{"axes", Ints{0}}}});
}

TEST(Operators, TakeAndFull) {
  HostTensor table = random_tensor(kBF16, {9, 5}, "table");
  HostTensor indices = i32_tensor({2, 3}, {0, 8, 3, 3, 1, 7});
  expect_within_bounds({"take", {table, indices}, {}});
  expect_within_bounds({"take", {table, indices}, {{"out_dtype", kF32}}});
  expect_within_bounds({"take", {table, i32_tensor({2}, {4, 0})}, {{"axis", int64_t{1}}}});
  HostTensor wide = tensor_of(DType::kI64, {}, {5});
  expect_within_bounds({"take", {table, wide}, {}});
  expect_within_bounds(
      {"take", {random_tensor(kF32, {9, 5}, "t"), indices}, {{"out_dtype", kF16}}});
  for (DType dtype : {kF32, kBF16, DType::kI32, DType::kBool}) {
    expect_within_bounds({"full", {Ints{2, 3}}, {{"value", 1.1}, {"dtype", dtype}}});
  }
}

TEST(Operators, Rope) {
  for (DType dtype : kFloatTypes) {
    HostTensor x = random_tensor(dtype, {2, 5, 3, 8}, "x");
    HostTensor freq = tensor_of(kF32, {4}, {1, 0.1, 0.01, 0.001});
    expect_within_bounds({"rope", {x, i32_tensor({2}, {0, 1000}), freq}, {}});
    const HostTensor of_each = tensor_of(kF32, {2, 4}, {1, 0.1, 0.01, 0.001, 0.5, 0.4, 0.3, 0.2});
    expect_within_bounds({"rope", {x, i32_tensor({2}, {0, 1000}), of_each}, {}});
  }
}

// Two batches over pages in mixed order; entries after the last used page are far out of range.
struct Cache {
  Shape pool = {6, 4, 2, 8};
  HostTensor table = i32_tensor({2, 3}, {4, 0, 1000000, 2, 5, 1});
  HostTensor lengths = i32_tensor({2}, {2, 7});
};

TEST(Operators, KvAppend) {
  Cache cache;
  for (DType dtype : kFloatTypes) {
    HostTensor pool = random_tensor(dtype, cache.pool, "pool");
    for (int64_t tokens : {1, 3, 5}) {
      HostTensor fresh = random_tensor(kF32, {2, tokens, 2, 8}, "new");
      OperatorCase test{"kv_append", {pool, fresh, cache.table, cache.lengths}, {}};
      expect_within_bounds(test);
      // Batch 1, token 0: position 7 is row 3 of its second page, page 5.
      double expected = fresh.at_f64(tokens * 16);
      double found = run_legalized(test, false)[0].at_f64(((5 * 4 + 3) * 2) * 8);
      EXPECT_NEAR(found, expected, 0.01);
    }
  }
}

TEST(Operators, PagedAttention) {
  Cache cache;
  AttrMap attrs = {{"scale", 0.35}};
  for (DType dtype : kFloatTypes) {
    HostTensor keys = random_tensor(dtype, cache.pool, "k", -2, 2);
    HostTensor values = random_tensor(dtype, cache.pool, "v", -2, 2);
    for (int64_t tokens : {1, 2, 5}) {
      for (int64_t heads : {2, 6}) {
        HostTensor q = random_tensor(kF32, {2, tokens, heads, 8}, "q", -2, 2);
        expect_within_bounds(
            {"paged_attention", {q, keys, values, cache.table, cache.lengths}, attrs});
      }
    }
  }
}

TEST(Operators, PagedAttentionReadsOnlyVisiblePositions) {
  Cache cache;
  HostTensor keys = random_tensor(kF32, cache.pool, "k");
  HostTensor values = random_tensor(kF32, cache.pool, "v");
  HostTensor q = random_tensor(kF32, {2, 1, 2, 8}, "q");
  OperatorCase test{
      "paged_attention", {q, keys, values, cache.table, cache.lengths}, {{"scale", 0.5}}};
  std::vector<HostTensor> clean = run_legalized(test, true);
  // Page 4 holds positions 0 to 3 of batch 0, which sees 0 to 2; page 3 is unused.
  for (HostTensor* pool : {&keys, &values}) {
    for (int64_t i = 0; i < 16; ++i) {
      pool->set_f64((4 * 4 + 3) * 16 + i, NAN);
      pool->set_f64(3 * 4 * 16 + i, NAN);
    }
  }
  std::vector<HostTensor> poisoned = run_legalized(test, true);
  for (int64_t i = 0; i < clean[0].size(); ++i) {
    EXPECT_EQ(clean[0].at_f64(i), poisoned[0].at_f64(i)) << i;
  }
}

// Bounds must detect real errors: for f32 they stay near the precision of f32.
TEST(Operators, BoundsAreTight) {
  auto widest = [](const OperatorCase& test) {
    double most = 0;
    for (const op::RefTensor& output : run_reference(test)) {
      for (size_t i = 0; i < output.values.size(); ++i) {
        most = std::max(most, output.bound[i] / std::max(1e-2, std::fabs(output.values[i])));
      }
    }
    return most;
  };
  HostTensor x = random_tensor(kF32, {4, 64}, "x"), w = random_tensor(kF32, {64, 64}, "w");
  EXPECT_LT(widest({"add", {x, x}, {}}), 1e-6);
  EXPECT_LT(widest({"silu", {x}, {}}), 2e-6);
  EXPECT_LT(widest({"rms_norm", {x, random_tensor(kF32, {64}, "n")}, {}}), 2e-5);
  EXPECT_LT(widest({"softmax", {x}, {}}), 3e-5);
  EXPECT_LT(widest({"matmul", {x, w}, {}}), 1e-2);
}

}  // namespace
}  // namespace tapml::testing
