// The elements of the reference's tensors that are not stored.
#include "op/ref_elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <utility>

#include "op/widen.h"
#include "run_reference.h"
#include "support/dtypes.h"

namespace tapml::op {
namespace {

using tapml::testing::kF32;
using testing::run_reference;

TEST(Widen, EveryElementOfNarrowDTypesAtEveryOffset) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    std::vector<uint16_t> bits(65536);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
    for (size_t first = 0; first < 9; ++first) {
      std::vector<double> wide(bits.size() - first);
      widen(dtype, bits.data() + first, wide.size(), wide.data());
      for (size_t i = 0; i < wide.size(); ++i) {
        const uint16_t one = bits[first + i];
        const double expected = dtype == DType::kF16 ? f16_to_f32(one) : bf16_to_f32(one);
        ASSERT_EQ(std::bit_cast<uint64_t>(wide[i]), std::bit_cast<uint64_t>(expected))
            << dtype_name(dtype) << " " << one;
      }
    }
  }
}

TEST(Widen, AnyCount) {
  const std::vector<float> floats = {1.5f, -0.0f, 1e-40f, 3e38f, -7, INFINITY, 2, 3, 4, 5, 6};
  for (size_t count = 0; count <= floats.size(); ++count) {
    std::vector<double> wide(floats.size() + 1, -1);
    widen(kF32, floats.data(), count, wide.data());
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(wide[i], floats[i]);
    EXPECT_EQ(wide[count], -1);
  }
  const std::vector<int8_t> integers = {-128, -1, 0, 127};
  std::vector<double> wide(4);
  widen(DType::kI8, integers.data(), 4, wide.data());
  EXPECT_EQ(wide, (std::vector<double>{-128, -1, 0, 127}));
  widen(DType::kU8, integers.data(), 4, wide.data());
  EXPECT_EQ(wide, (std::vector<double>{128, 255, 0, 127}));
}

// 0, 1, 2, ...
class Numbers final : public ComputedElements {
 public:
  void read(size_t first, size_t stride, size_t count, double* to,
            size_t to_stride) const override {
    for (size_t i = 0; i < count; ++i) to[i * to_stride] = static_cast<double>(first + i * stride);
  }
};

TEST(RefElements, ComputedOnesAreStoredWhenOneIsChanged) {
  RefValues values(std::make_shared<const Numbers>(), 5);
  EXPECT_EQ(std::as_const(values)[3], 3);
  double some[4] = {-1, -1, -1, -1};
  values.read(0, 2, 2, some, 2);
  EXPECT_EQ(some[0], 0);
  EXPECT_EQ(some[1], -1);
  EXPECT_EQ(some[2], 2);
  values[1] = 7;
  EXPECT_EQ(values, (std::vector<double>{0, 7, 2, 3, 4}));
  RefBounds bounds(std::make_shared<const Numbers>(), 3);
  EXPECT_FALSE(bounds.all_zero());
  bounds.set(2, 0);
  EXPECT_EQ(bounds, (std::vector<double>{0, 1, 0}));
  bounds.assign(3, 0);
  EXPECT_TRUE(bounds.all_zero());
}

TEST(RefElements, ZerosTakeNoMemoryUntilOneIsChanged) {
  RefTensor zeros = RefTensor::zeros(kF32, {int64_t{1} << 40});  // 8 TiB
  EXPECT_EQ(zeros.values.size(), size_t{1} << 40);
  EXPECT_EQ(std::as_const(zeros).values[12345], 0);
  zeros = RefTensor::zeros(kF32, {3});
  zeros.values[1] = -0.0;
  EXPECT_TRUE(std::signbit(std::as_const(zeros).values[1]));
  EXPECT_FALSE(std::signbit(std::as_const(zeros).values[0]));
  zeros.values.assign(2, -0.0);
  EXPECT_TRUE(std::signbit(std::as_const(zeros).values[1]));
}

// Four-bit weights are dequantized where they are read, with the same elements in every order.
TEST(RefElements, DequantizedWeightsAreComputedWhenTheyAreRead) {
  const int64_t rows = 20, columns = 192, group = 32;
  HostTensor packed = HostTensor::zeros(DType::kU8, {rows, columns / 2});
  for (int64_t i = 0; i < packed.size(); ++i) packed.set_f64(i, static_cast<double>(i * 37 % 256));
  HostTensor scales = HostTensor::zeros(kF32, {rows, columns / group});
  for (int64_t i = 0; i < scales.size(); ++i) scales.set_f64(i, 0.001 * static_cast<double>(i - 9));
  const RefTensor weights =
      run_reference("dequantize", {RefTensor::from(packed), RefTensor::from(scales)},
                    {RefTensor::zeros(kF32, {rows, columns})}, {{"group", group}})[0];
  RefTensor stored = weights;
  stored.values.allocate();
  for (RefBounds* part : {&stored.bound, &stored.systematic, &stored.deviation}) part->allocate();
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto byte = static_cast<int>(packed.at_f64(i / 2));
    const double level = (i % 2 == 0 ? byte & 15 : byte >> 4) - 8;
    const double expected = level * scales.at_f64(i / group);
    EXPECT_EQ(weights.values[at], expected);
    EXPECT_EQ(stored.values[at], expected);
    EXPECT_EQ(weights.bound[at], stored.bound[at]);
    EXPECT_GE(weights.bound[at], 2 * 0x1p-24 * std::fabs(expected));
    EXPECT_LE(weights.bound[at], 5 * 0x1p-24 * std::fabs(expected) + 1e-37);
    EXPECT_EQ(weights.deviation[at], stored.deviation[at]);
  }
  std::vector<double> odd(100);
  weights.values.read(1, 3, odd.size(), odd.data(), 1);
  for (size_t i = 0; i < odd.size(); ++i) EXPECT_EQ(odd[i], stored.values[1 + 3 * i]);
  // A product reads them in blocks.
  RefTensor x = RefTensor::zeros(kF32, {2, columns});
  for (size_t i = 0; i < x.values.size(); ++i) x.values[i] = std::sin(static_cast<double>(i));
  const auto product = [&](const RefTensor& w) {
    return run_reference("matmul", {x, w}, {RefTensor::zeros(kF32, {2, rows})},
                         {{"transpose_b", true}})[0];
  };
  const RefTensor by_blocks = product(weights), by_copy = product(stored);
  EXPECT_EQ(by_blocks.values, by_copy.values);
  EXPECT_EQ(by_blocks.bound, by_copy.bound);
  EXPECT_EQ(by_blocks.systematic, by_copy.systematic);
  EXPECT_EQ(by_blocks.deviation, by_copy.deviation);
  EXPECT_GT(by_blocks.deviation[0], 0);
}

}  // namespace
}  // namespace tapml::op
