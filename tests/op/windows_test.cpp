// Deduction of convolutions, pooling and resizing, and its messages.
#include "deduce_case.h"

namespace tapml::op {
namespace {

using namespace testing;  // NOLINT: short names of annotations

std::string first_part(const std::string& text) { return text.substr(0, text.find(" | ")); }

class Windows : public ::testing::Test {
 protected:
  Var n = make_size("n"), h = make_size("h"), w = make_size("w"), c = make_size("c");
};

TEST_F(Windows, Convolution) {
  EXPECT_EQ(
      deduced("conv2d", {tensor({n, 8, h, w}), tensor({16, 8, 3, 3})}, {{"padding", Ints{1, 1}}}),
      "Tensor((n, 16, h, w), f32)");
  EXPECT_EQ(deduced("conv2d", {tensor({n, 8, 56, 56}), tensor({16, 2, 3, 5})},
                    {{"strides", Ints{2, 1}}, {"groups", int64_t{4}}}),
            "Tensor((n, 16, 27, 52), f32)");
  EXPECT_EQ(deduced("conv1d", {tensor({n, 8, h}), tensor({16, 8, 3})},
                    {{"strides", Ints{2}}, {"padding", Ints{2, 1}}}),
            "Tensor((n, 16, h//2 + 1), f32)");
  EXPECT_EQ(deduced("conv3d", {tensor({1, 2, 4, 5, 6}), tensor({3, 2, 1, 2, 3})},
                    {{"dilation", Ints{1, 2, 2}}}),
            "Tensor((1, 3, 4, 3, 2), f32)");
  EXPECT_EQ(deduced("conv1d", {tensor({1, c, 8}, kF16), tensor({4, c, 1}, kBF16)}),
            "Tensor((1, 4, 8), f32)");
  EXPECT_EQ(deduced("conv2d", {coarse(4), tensor({16, 8, 3, 3})}), "Tensor(ndim=4, f32)");
}

TEST_F(Windows, WrongConvolutions) {
  auto wrong = [&](Dims x, Dims weight, AttrMap attrs) {
    return first_part(
        failure("conv2d", {tensor(std::move(x)), tensor(std::move(weight))}, std::move(attrs)));
  };
  EXPECT_EQ(wrong({1, 6, 8, 8}, {4, 2, 3, 3}, {{"groups", int64_t{3}}}),
            "conv2d: filters are not divisible by groups");
  EXPECT_EQ(wrong({1, 7, 8, 8}, {3, 2, 3, 3}, {{"groups", int64_t{3}}}),
            "conv2d: channels of x are not divisible by groups");
  EXPECT_EQ(wrong({1, 6, 8, 8}, {3, 3, 3, 3}, {{"groups", int64_t{3}}}),
            "conv2d: dimensions x.1 and weight.1 * groups differ");
  EXPECT_EQ(wrong({1, 2, 2, 8}, {3, 2, 3, 3}, {}),
            "conv2d: the kernel is larger than the padded input along spatial dimension 0");
  EXPECT_EQ(wrong({1, 2, 8, 4}, {3, 2, 3, 3}, {{"dilation", Ints{1, 2}}}),
            "conv2d: the kernel is larger than the padded input along spatial dimension 1");
  EXPECT_EQ(wrong({1, 2, 8, 8}, {3, 2, 0, 3}, {}), "conv2d: the kernel is empty");
  EXPECT_EQ(wrong({1, 2, 8, 8}, {3, 2, 3, 3}, {{"padding", Ints{1, -1}}}),
            "conv2d: padding is negative");
  EXPECT_EQ(wrong({1, 2, 8, 8}, {3, 2, 3, 3}, {{"padding", Ints{1, 1, 1}}}),
            "conv2d: padding does not have one or two entries per spatial dimension");
  EXPECT_EQ(wrong({1, 2, 8, 8}, {3, 2, 3, 3}, {{"strides", Ints{1}}}),
            "conv2d: strides does not have one entry per spatial dimension");
  EXPECT_EQ(wrong({1, 2, 8, 8}, {3, 2, 3, 3}, {{"strides", Ints{0, 1}}}),
            "conv2d: an entry of strides is too small");
  EXPECT_EQ(wrong({1, 2, 8, 8}, {3, 2, 3, 3}, {{"groups", int64_t{0}}}),
            "conv2d: groups is not positive");
  EXPECT_EQ(wrong({1, 2, 8}, {3, 2, 3, 3}, {}), "conv2d: argument 'x' has the wrong rank");
}

TEST_F(Windows, TransposedConvolution) {
  EXPECT_EQ(deduced("conv2d_transpose", {tensor({n, 8, h, 5}), tensor({8, 4, 3, 3})},
                    {{"strides", Ints{2, 2}},
                     {"padding", Ints{1, 1}},
                     {"output_padding", Ints{1, 0}},
                     {"groups", int64_t{2}}}),
            "Tensor((n, 8, h*2, 9), f32)");
  auto wrong = [&](Dims x, Dims weight, AttrMap attrs) {
    return first_part(failure("conv1d_transpose", {tensor(std::move(x)), tensor(std::move(weight))},
                              std::move(attrs)));
  };
  EXPECT_EQ(wrong({1, 4, 3}, {3, 4, 2}, {}),
            "conv1d_transpose: dimensions x.1 and weight.0 differ");
  EXPECT_EQ(wrong({1, 4, 3}, {4, 4, 2}, {{"output_padding", Ints{1}}}),
            "conv1d_transpose: output_padding is not smaller than stride or dilation");
  EXPECT_EQ(
      wrong({1, 4, 3}, {4, 4, 2}, {{"padding", Ints{3}}}),
      "conv1d_transpose: padding removes more elements than there are along spatial dimension 0");
  EXPECT_EQ(wrong({1, 3, 3}, {3, 4, 2}, {{"groups", int64_t{2}}}),
            "conv1d_transpose: channels of x are not divisible by groups");
}

TEST_F(Windows, Pooling) {
  EXPECT_EQ(
      deduced("max_pool2d", {tensor({n, c, h, 7}, kI32)},
              {{"kernel_size", Ints{2, 3}}, {"strides", Ints{2, 2}}, {"padding", Ints{0, 1}}}),
      "Tensor((n, c, h//2, 4), i32)");
  EXPECT_EQ(deduced("avg_pool1d", {tensor({1, 1, 6})},
                    {{"kernel_size", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", true}}),
            "Tensor((1, 1, 3), f32)");
  EXPECT_EQ(deduced("adaptive_avg_pool2d", {tensor({n, c, h, w})}, {{"output_size", Ints{1, 7}}}),
            "Tensor((n, c, 1, 7), f32)");
  auto wrong = [&](const char* op, DType dtype, AttrMap attrs) {
    return first_part(failure(op, {tensor({1, 2, 4}, dtype)}, std::move(attrs)));
  };
  EXPECT_EQ(wrong("max_pool1d", kF32, {}), "max_pool1d: attribute 'kernel_size' is missing");
  EXPECT_EQ(wrong("max_pool1d", kF32, {{"kernel_size", Ints{}}}),
            "max_pool1d: kernel_size is empty");
  EXPECT_EQ(wrong("max_pool1d", kF32, {{"kernel_size", Ints{5}}}),
            "max_pool1d: the kernel is larger than the padded input along spatial dimension 0");
  EXPECT_EQ(wrong("max_pool1d", kF32, {{"kernel_size", Ints{2}}, {"padding", Ints{2}}}),
            "max_pool1d: a window would be entirely in the padding");
  EXPECT_EQ(wrong("avg_pool1d", kI32, {{"kernel_size", Ints{2}}}),
            "avg_pool1d: argument 'x' has the wrong dtype");
  EXPECT_EQ(wrong("adaptive_max_pool1d", kF32, {{"output_size", Ints{0}}}),
            "adaptive_max_pool1d: an entry of output_size is too small");
  EXPECT_EQ(
      first_part(failure("adaptive_max_pool1d", {tensor({1, 2, 0})}, {{"output_size", Ints{1}}})),
      "adaptive_max_pool1d: spatial dimension 0 is empty");
}

TEST_F(Windows, Resize) {
  EXPECT_EQ(deduced("resize2d", {tensor({n, c, h, w}), relax::make_shape({h * 2, 7})}),
            "Tensor((n, c, h*2, 7), f32)");
  EXPECT_EQ(deduced("upsample2d", {tensor({n, c, h, 4}, DType::kU8)}, {{"scales", Ints{2, 3}}}),
            "Tensor((n, c, h*2, 12), u8)");
  auto wrong = [&](Dims x, Dims size, AttrMap attrs, DType dtype = kF32) {
    return first_part(failure("resize2d", {tensor(std::move(x), dtype), relax::make_shape(size)},
                              std::move(attrs)));
  };
  EXPECT_EQ(wrong({1, 1, 4, 4}, {4}, {}), "resize2d: size does not have two dimensions");
  EXPECT_EQ(wrong({1, 1, 4, 0}, {4, 4}, {}), "resize2d: spatial dimension 1 of x is empty");
  EXPECT_EQ(wrong({1, 1, 4, 4}, {-1, 4}, {}), "resize2d: a dimension of size is negative");
  EXPECT_EQ(wrong({1, 1, 4, 4}, {4, 4}, {{"method", std::string("cubic")}}),
            "resize2d: method is not known");
  EXPECT_EQ(wrong({1, 1, 4, 4}, {4, 4}, {{"coordinates", std::string("round")}}),
            "resize2d: coordinates is not known");
  EXPECT_EQ(wrong({1, 1, 4, 4}, {4, 4}, {{"method", std::string("bilinear")}}, kI32),
            "resize2d: argument 'x' has the wrong dtype");
}

}  // namespace
}  // namespace tapml::op
