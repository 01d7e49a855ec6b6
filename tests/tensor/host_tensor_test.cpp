#include "tensor/host_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <new>

#include "base/hash.h"

namespace tapml {
namespace {

TEST(ShapeTest, CheckedCounts) {
  EXPECT_EQ(checked_element_count(Shape{}).value(), 1);
  EXPECT_EQ(checked_element_count(Shape{2, 3, 4}).value(), 24);
  EXPECT_EQ(checked_element_count(Shape{0, int64_t{1} << 62, 4}).value(), 0);
  EXPECT_EQ(element_count(Shape{std::numeric_limits<int64_t>::max(), int64_t{1} << 62, 0}), 0);
  EXPECT_EQ(checked_element_count(Shape{int64_t{1} << 62, 1}).value(), int64_t{1} << 62);

  auto negative = checked_element_count(Shape{2, -1});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().kind, ErrorKind::kUser);
  EXPECT_EQ(negative.error().message, "a dimension of shape [2, -1] is negative");
  // A zero does not excuse a negative dimension after it.
  EXPECT_FALSE(checked_element_count(Shape{0, -1}));

  auto large = checked_element_count(Shape{int64_t{1} << 62, 2});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "shape [4611686018427387904, 2] has too many elements");

  EXPECT_EQ(checked_byte_count(DType::kBF16, Shape{3, 5}).value(), 30);
  EXPECT_FALSE(checked_byte_count(DType::kF32, Shape{int64_t{1} << 61}));
  EXPECT_EQ(shape_to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(shape_to_string(Shape{}), "[]");
}

TEST(HostTensorTest, ZerosIsAlignedAndZero) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, {3, 5});
  EXPECT_EQ(tensor.size(), 15);
  EXPECT_EQ(tensor.byte_size(), 60u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes().data()) % 64, 0u);
  for (float value : tensor.values<float>()) EXPECT_EQ(value, 0);
  HostTensor empty = HostTensor::zeros(DType::kF32, {0, 4});
  EXPECT_EQ(empty.bytes().size(), 0u);
  EXPECT_NE(empty.bytes().data(), nullptr);
  EXPECT_EQ(HostTensor().size(), 0);
}

TEST(HostTensorTest, CopiesAndReshapesShareStorage) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  HostTensor tensor = HostTensor::from<float>(DType::kF32, {2, 3}, values);
  HostTensor copy = tensor.reshaped({6});
  EXPECT_EQ(copy.shape(), Shape{6});
  EXPECT_EQ(copy.bytes().data(), tensor.bytes().data());
  tensor = HostTensor();
  EXPECT_EQ(copy.at_f64(5), 6);
}

TEST(HostTensorTest, ViewKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{7, 8});
  std::weak_ptr<std::vector<int32_t>> watch = owner;
  {
    HostTensor view =
        HostTensor::view(DType::kI32, {2}, std::as_bytes(std::span(*owner)).data(), owner);
    owner.reset();
    EXPECT_EQ(view.at_f64(1), 8);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(HostTensorTest, ElementsAsF64RoundTripInEveryDType) {
  for (DType dtype :
       {DType::kBool, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
        DType::kU32, DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    HostTensor tensor = HostTensor::zeros(dtype, {3});
    tensor.set_f64(1, 1);
    EXPECT_EQ(tensor.at_f64(0), 0) << dtype_name(dtype);
    EXPECT_EQ(tensor.at_f64(1), 1) << dtype_name(dtype);
    EXPECT_EQ(tensor.at_f64(2), 0) << dtype_name(dtype);
    if (is_signed_integer(dtype) || is_float(dtype)) {
      tensor.set_f64(2, -5);
      EXPECT_EQ(tensor.at_f64(2), -5) << dtype_name(dtype);
    }
  }
}

double stored(DType dtype, double value) {
  HostTensor tensor = HostTensor::zeros(dtype, {1});
  tensor.set_f64(0, value);
  return tensor.at_f64(0);
}

TEST(HostTensorTest, IntegersRoundAndSaturate) {
  EXPECT_EQ(stored(DType::kI8, 300), 127);
  EXPECT_EQ(stored(DType::kI8, -300), -128);
  EXPECT_EQ(stored(DType::kU8, -1), 0);
  EXPECT_EQ(stored(DType::kI32, 2.5), 2);
  EXPECT_EQ(stored(DType::kI32, 3.5), 4);
  EXPECT_EQ(stored(DType::kI32, NAN), 0);
  EXPECT_EQ(stored(DType::kBool, 0.5), 1);

  HostTensor wide = HostTensor::zeros(DType::kI64, {2});
  wide.set_f64(0, 1e30);
  wide.set_f64(1, -INFINITY);
  EXPECT_EQ(wide.values<int64_t>()[0], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(wide.values<int64_t>()[1], std::numeric_limits<int64_t>::min());
  HostTensor natural = HostTensor::zeros(DType::kU64, {1});
  natural.set_f64(0, 1e30);
  EXPECT_EQ(natural.values<uint64_t>()[0], std::numeric_limits<uint64_t>::max());
}

TEST(HostTensorTest, FloatsRoundOnce) {
  // Just above a midpoint of bf16 (f16): rounding to f32 first would give the midpoint, and then
  // even.
  EXPECT_EQ(stored(DType::kBF16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(stored(DType::kBF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(stored(DType::kF16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(stored(DType::kF16, 1 + 3 * 0x1p-11 - 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(stored(DType::kF16, -(0x1p-25 + 0x1p-60)), -0x1p-24);
  EXPECT_EQ(stored(DType::kBF16, 1e300), INFINITY);
  EXPECT_EQ(stored(DType::kF16, -1e300), -INFINITY);
  EXPECT_TRUE(std::isnan(stored(DType::kBF16, NAN)));
}

// The allocator of the programs reserves addresses without a limit: the first use of such a tensor
// would end the process.
TEST(HostTensorTest, MoreBytesThanTheMachineHasAreRefused) {
  EXPECT_THROW(HostTensor::zeros(DType::kF32, {int64_t{1} << 43}), std::bad_alloc);
  EXPECT_THROW(HostTensor::zeros(DType::kI8, {int64_t{1} << 60}), std::bad_alloc);
}

TEST(HostTensorTest, ContentHashCoversDTypeShapeAndBytes) {
  const float values[] = {1, 2, 3, 4};
  HostTensor tensor = HostTensor::from<float>(DType::kF32, {2, 2}, values);
  Sha256 expected;
  expected.update("f32|[2, 2]|");
  expected.update(std::as_bytes(std::span(values)));
  EXPECT_EQ(content_hash(tensor), to_hex(expected.digest()));
  EXPECT_NE(content_hash(tensor), content_hash(tensor.reshaped({4})));
  EXPECT_NE(content_hash(HostTensor::zeros(DType::kI32, {1})),
            content_hash(HostTensor::zeros(DType::kF32, {1})));
}

}  // namespace
}  // namespace tapml
