// Matrix products in all their forms, and equations.
#include "random_calls.h"
#include "support/dtypes.h"

namespace tapml::testing {
namespace {

TEST(Products, VectorsAndTransposedOperands) {
  struct Shapes {
    Shape a, b;
  };
  const Shapes shapes[] = {{{5}, {5}},       {{0}, {0}},       {{5}, {5, 3}},         {{4, 5}, {5}},
                           {{5}, {2, 5, 3}}, {{2, 4, 5}, {5}}, {{1, 4, 5}, {7, 5, 3}}};
  for (const Shapes& s : shapes) {
    for (int flags = 0; flags < 4; ++flags) {
      bool ta = (flags & 1) != 0, tb = (flags & 2) != 0;
      Shape a = s.a, b = s.b;
      if (ta && a.size() > 1) std::swap(a[a.size() - 1], a[a.size() - 2]);
      if (tb && b.size() > 1) std::swap(b[b.size() - 1], b[b.size() - 2]);
      AttrMap attrs = {{"transpose_a", ta}, {"transpose_b", tb}};
      for (DType dtype : {kF32, kF64, DType::kI8, DType::kI64}) {
        expect_within_bounds(
            {"matmul",
             {random_tensor(dtype, a, "a", -9, 9), random_tensor(dtype, b, "b", -9, 9)},
             attrs});
      }
    }
  }
}

TEST(Products, IntegersWrapInTheResult) {
  HostTensor a = tensor_of(DType::kI8, {1, 2}, {100, 100}),
             b = tensor_of(DType::kI8, {2, 1}, {100, 3});
  OperatorCase narrow{"matmul", {a, b}, {}}, wide{"matmul", {a, b}, {{"out_dtype", DType::kI32}}};
  EXPECT_EQ(run_reference(narrow)[0].values, std::vector<double>{60});  // 10300 mod 256
  EXPECT_EQ(run_reference(wide)[0].values, std::vector<double>{10300});
  expect_within_bounds(narrow);
  expect_within_bounds(wide);
  HostTensor large = HostTensor::zeros(DType::kI64, {2});
  large.mutable_values<int64_t>()[0] = (int64_t{1} << 62) + 1;
  large.mutable_values<int64_t>()[1] = 5;
  HostTensor factors = tensor_of(DType::kI64, {2}, {2, 1});
  EXPECT_EQ(run_reference({"matmul", {large, factors}, {}})[0].integers,
            std::vector<int64_t>{INT64_MIN + 7});
}

TEST(Products, Equations) {
  HostTensor a = tensor_of(kF32, {2, 2}, {1, 2, 3, 4}), b = tensor_of(kF32, {2, 2}, {5, 6, 7, 8});
  auto run = [&](const std::string& equation) {
    OperatorCase test{"einsum", {a, b}, {{"equation", equation}}};
    expect_within_bounds(test);
    return run_reference(test)[0].values;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(run("ij,jk->ik"), (Values{19, 22, 43, 50}));
  EXPECT_EQ(run("ij,kj->ik"), (Values{17, 23, 39, 53}));
  EXPECT_EQ(run("ii,ij->j"), (Values{33, 38}));
  EXPECT_EQ(run("ij,ij->"), (Values{70}));
  EXPECT_EQ(run("ij,ij"), (Values{70}));
  EXPECT_EQ(run("ba,ac"), (Values{19, 22, 43, 50}));
  EXPECT_EQ(run("cb,ba"), (Values{19, 43, 22, 50}));  // the result is "ac"
  EXPECT_EQ(run("i...,i...->..."), (Values{26, 44}));
  EXPECT_EQ(run("ij,kl->"), (Values{260}));
  EXPECT_EQ(run(" i j , j k -> k "), (Values{62, 72}));
}

TEST(Products, RandomCalls) {
  for (const char* name : {"matmul", "outer", "linear", "einsum"}) expect_random_calls(name, 24);
}

}  // namespace
}  // namespace tapml::testing
