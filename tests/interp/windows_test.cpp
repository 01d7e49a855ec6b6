// Convolutions, pooling and resizing: values computed by hand, and random calls.
#include <cmath>

#include "random_calls.h"
#include "support/dtypes.h"

namespace tapml::testing {
namespace {

using Ints = std::vector<int64_t>;
using Values = std::vector<double>;

Values values_of(const OperatorCase& test) {
  expect_within_bounds(test);
  const auto values = run_reference(test)[0].values;
  return {values.begin(), values.end()};
}

TEST(Windows, Convolution) {
  HostTensor x = tensor_of(kF32, {1, 1, 5}, {1, 2, 3, 4, 5});
  HostTensor w = tensor_of(kF32, {1, 1, 3}, {1, 10, 100});
  auto run = [&](const AttrMap& attrs) { return values_of({"conv1d", {x, w}, attrs}); };
  EXPECT_EQ(run({}), (Values{321, 432, 543}));
  EXPECT_EQ(run({{"padding", Ints{1}}}), (Values{210, 321, 432, 543, 54}));
  EXPECT_EQ(run({{"padding", Ints{2, 0}}}), (Values{100, 210, 321, 432, 543}));
  EXPECT_EQ(run({{"strides", Ints{2}}}), (Values{321, 543}));
  EXPECT_EQ(run({{"dilation", Ints{2}}}), (Values{531}));

  HostTensor two = tensor_of(kF32, {1, 2, 2}, {1, 2, 3, 4});
  HostTensor each = tensor_of(kF32, {2, 1, 1}, {10, 100});
  EXPECT_EQ(values_of({"conv1d", {two, each}, {{"groups", int64_t{2}}}}),
            (Values{10, 20, 300, 400}));
}

TEST(Windows, ConvolutionOfNothing) {
  HostTensor w = random_tensor(kF32, {3, 2, 2, 2}, "w");
  expect_within_bounds({"conv2d", {random_tensor(kF32, {0, 2, 4, 4}, "x"), w}, {}});
  HostTensor none = random_tensor(kF32, {1, 0, 4, 4}, "x");
  EXPECT_EQ(values_of({"conv2d", {none, random_tensor(kF32, {1, 0, 3, 3}, "w")}, {}}),
            Values(4, 0));
  HostTensor filters = random_tensor(kF32, {0, 2, 3, 3}, "w");
  expect_within_bounds({"conv2d", {random_tensor(kF32, {1, 2, 4, 4}, "x"), filters}, {}});
}

TEST(Windows, TransposedConvolution) {
  HostTensor x = tensor_of(kF32, {1, 1, 3}, {1, 2, 3});
  HostTensor w = tensor_of(kF32, {1, 1, 2}, {1, 10});
  auto run = [&](const AttrMap& attrs) { return values_of({"conv1d_transpose", {x, w}, attrs}); };
  EXPECT_EQ(run({}), (Values{1, 12, 23, 30}));
  EXPECT_EQ(run({{"strides", Ints{2}}}), (Values{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(run({{"strides", Ints{2}}, {"padding", Ints{1}}}), (Values{10, 2, 20, 3}));
  EXPECT_EQ(run({{"strides", Ints{2}}, {"output_padding", Ints{1}}}),
            (Values{1, 10, 2, 20, 3, 30, 0}));
  EXPECT_EQ(run({{"dilation", Ints{2}}}), (Values{1, 2, 13, 20, 30}));
  EXPECT_EQ(run({{"padding", Ints{2}}}), Values{});
}

TEST(Windows, Pooling) {
  HostTensor x = tensor_of(kF32, {1, 1, 6}, {1, 5, 2, 4, 3, 6});
  auto run = [&](const char* op, AttrMap attrs) {
    attrs["kernel_size"] = Ints{3};
    return values_of({op, {x}, attrs});
  };
  EXPECT_EQ(run("max_pool1d", {}), (Values{5, 6}));
  EXPECT_EQ(run("max_pool1d", {{"strides", Ints{1}}, {"padding", Ints{1}}}),
            (Values{5, 5, 5, 4, 6, 6}));
  EXPECT_EQ(run("max_pool1d", {{"strides", Ints{1}}, {"dilation", Ints{2}}}), (Values{3, 6}));
  EXPECT_EQ(run("avg_pool1d", {{"strides", Ints{3}}, {"padding", Ints{1}}}), (Values{2, 3}));
  EXPECT_EQ(run("avg_pool1d", {{"padding", Ints{1}}, {"count_include_pad", false}}),
            (Values{3, 3}));
  // Windows start at 0, 2, 4; the last has two elements.
  EXPECT_EQ(run("avg_pool1d", {{"strides", Ints{2}}, {"ceil_mode", true}}),
            (Values{8. / 3, 3, 4.5}));
  // A window that would start after the end of the input is dropped.
  EXPECT_EQ(run("max_pool1d", {{"strides", Ints{7}}, {"ceil_mode", true}}), (Values{5}));
  EXPECT_EQ(values_of({"adaptive_avg_pool1d", {x}, {{"output_size", Ints{4}}}}),
            (Values{3, 3.5, 3.5, 4.5}));
  EXPECT_EQ(values_of({"adaptive_max_pool1d", {x}, {{"output_size", Ints{4}}}}),
            (Values{5, 5, 4, 6}));
}

TEST(Windows, PoolingTakesNaN) {
  HostTensor x = tensor_of(kF32, {1, 1, 4}, {1, kNan, 2, 4});
  Values found = values_of({"max_pool1d", {x}, {{"kernel_size", Ints{2}}}});
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], 4);
}

TEST(Windows, Resize) {
  HostTensor x = tensor_of(kF32, {1, 1, 1, 4}, {0, 10, 20, 30});
  auto run = [&](const char* method, const char* coordinates, int64_t width) {
    return values_of(
        {"resize2d",
         {x, Ints{1, width}},
         {{"method", std::string(method)}, {"coordinates", std::string(coordinates)}}});
  };
  EXPECT_EQ(run("nearest", "asymmetric", 6), (Values{0, 0, 10, 20, 20, 30}));
  EXPECT_EQ(run("nearest", "half_pixel", 6), (Values{0, 10, 10, 20, 30, 30}));
  EXPECT_EQ(run("nearest", "align_corners", 3), (Values{0, 20, 30}));
  EXPECT_EQ(run("bilinear", "align_corners", 7), (Values{0, 5, 10, 15, 20, 25, 30}));
  EXPECT_EQ(run("bilinear", "half_pixel", 2), (Values{5, 25}));
  EXPECT_EQ(run("bilinear", "half_pixel", 8), (Values{0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30}));
  EXPECT_EQ(run("bilinear", "asymmetric", 8), (Values{0, 5, 10, 15, 20, 25, 30, 30}));
  EXPECT_EQ(run("bilinear", "align_corners", 1), Values{0});
  EXPECT_EQ(run("nearest", "half_pixel", 0), Values{});
}

TEST(Windows, RandomConvolutions) {
  for (const char* name :
       {"conv1d", "conv2d", "conv3d", "conv1d_transpose", "conv2d_transpose", "conv3d_transpose"}) {
    expect_random_calls(name, 6);
  }
}

TEST(Windows, RandomPooling) {
  for (const char* name :
       {"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
        "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
        "adaptive_max_pool2d", "adaptive_max_pool3d"}) {
    expect_random_calls(name, 8);
  }
}

TEST(Windows, RandomResizing) {
  for (const char* name : {"resize2d", "upsample2d"}) expect_random_calls(name, 12);
}

}  // namespace
}  // namespace tapml::testing
