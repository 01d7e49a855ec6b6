// Error rules of sorting, searching, selecting and writing at indices: what the bounds of the
// inputs do not decide is open, the rest is decided.
#include <gtest/gtest.h>

#include <cmath>

#include "run_reference.h"
#include "support/dtypes.h"

namespace tapml::op {
namespace {

using tapml::testing::kF32;
using tapml::testing::kI32;
using testing::run_reference;
const double kNan = std::nan(""), kInf = INFINITY;

RefTensor row(const std::vector<double>& values, const std::vector<double>& bounds,
              DType dtype = kF32) {
  RefTensor tensor = RefTensor::zeros(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.set_value(i, values[i]);
  if (!bounds.empty()) tensor.bound = bounds;
  return tensor;
}

std::vector<RefTensor> sorted(const RefTensor& x, bool descending = false) {
  AttrMap attrs = {{"axis", int64_t{-1}}, {"descending", descending}};
  RefTensor values = run_reference("sort", {x}, {RefTensor::zeros(x.dtype, x.shape)}, attrs)[0];
  return {values, run_reference("argsort", {x}, {RefTensor::zeros(kI32, x.shape)}, attrs)[0]};
}

TEST(Ordering, ExactElementsHaveOneOrder) {
  for (bool descending : {false, true}) {
    auto both = sorted(row({2, kNan, -0.0, 0.0, 2, -kInf}, {}), descending);
    EXPECT_EQ(both[1].values, descending ? (std::vector<double>{1, 0, 4, 2, 3, 5})
                                         : (std::vector<double>{5, 2, 3, 0, 4, 1}));
    EXPECT_EQ(both[0].bound, std::vector<double>(6, 0));
    EXPECT_EQ(both[1].bound, std::vector<double>(6, 0));
  }
}

TEST(Ordering, OverlappingBoxesAreOpen) {
  // 1 and 1.5 may be swapped, 9 is separate.
  for (bool descending : {false, true}) {
    auto both = sorted(row({1.5, 9, 1}, {0.25, 0.5, 0.5}), descending);
    const std::vector<double> open =
        descending ? std::vector<double>{0, 3, 3} : std::vector<double>{3, 3, 0};
    EXPECT_EQ(both[1].bound, open);
  }
  // Sorted lower ends 0.5 1.25 8.5, upper ends 1.5 1.75 9.5.
  auto both = sorted(row({1.5, 9, 1}, {0.25, 0.5, 0.5}));
  EXPECT_EQ(both[0].values, (std::vector<double>{1, 1.5, 9}));
  EXPECT_EQ(both[0].bound, (std::vector<double>{0.5, 0.25, 0.5}));
  // An exact element inside an inexact one's interval.
  EXPECT_EQ(sorted(row({1, 1.25, 5}, {0.5, 0, 0}))[1].bound, (std::vector<double>{3, 3, 0}));
  // An arbitrary element: every position is open.
  EXPECT_EQ(sorted(row({1, 2, 3}, {0, kInf, 0}))[1].bound, (std::vector<double>{3, 3, 3}));
  EXPECT_EQ(sorted(row({1, 2, 3}, {0, kInf, 0}))[0].bound[2], kInf);
}

TEST(Ordering, SearchesCountUncertainElements) {
  RefTensor values = row({2, 2.5}, {0, 0.6});
  RefTensor found = run_reference("searchsorted", {row({1, 2, 3, 4}, {}), values},
                                  {RefTensor::zeros(kI32, {2})}, {{"right", false}})[0];
  EXPECT_EQ(found.values, (std::vector<double>{1, 2}));
  EXPECT_EQ(found.bound, (std::vector<double>{0, 2}));
}

TEST(Ordering, CountsAndRowsAfterAnUncertainElement) {
  RefTensor x = row({1, 0, 0.1, 2}, {0, 0, 0.2, 0.5});
  EXPECT_EQ(run_reference("nonzero_count", {x}, {RefTensor::zeros(kI32, {1})}, {})[0].bound[0], 1);
  RefTensor rows = run_reference("nonzero_fill", {x}, {RefTensor::zeros(kI32, {3, 1})}, {})[0];
  EXPECT_EQ(rows.values, (std::vector<double>{0, 2, 3}));
  EXPECT_EQ(rows.bound, (std::vector<double>{0, kInf, kInf}));
}

TEST(Ordering, UnsettledIndicesOpenWhatTheyMayWrite) {
  RefTensor x = row({1, 2, 3}, {}), updates = row({5}, {});
  AttrMap axis = {{"axis", int64_t{0}}};
  RefTensor settled = run_reference("scatter", {x, row({-1}, {}, kI32), updates},
                                    {RefTensor::zeros(kF32, {3})}, axis)[0];
  EXPECT_EQ(settled.values, (std::vector<double>{1, 2, 5}));
  EXPECT_EQ(settled.bound, (std::vector<double>{0, 0, 0}));
  RefTensor open = run_reference("scatter", {x, row({1}, {1}, kI32), updates},
                                 {RefTensor::zeros(kF32, {3})}, axis)[0];
  EXPECT_EQ(open.bound, std::vector<double>(3, kInf));
  RefTensor sum = run_reference("scatter_add", {x, row({1}, {}, kI32), row({1e8}, {4})},
                                {RefTensor::zeros(kF32, {3})}, axis)[0];
  EXPECT_EQ(sum.bound[0], 0);
  EXPECT_GT(sum.bound[1], 4);
  EXPECT_LT(sum.bound[1], 200);
}

}  // namespace
}  // namespace tapml::op
