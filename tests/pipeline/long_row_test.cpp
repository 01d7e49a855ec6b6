// Rows so long that quadratic work would be noticeable.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "run_module.h"
#include "text/parser.h"

namespace tapml {
namespace {

constexpr int64_t kLength = 100000;

HostTensor run_text(const std::string& platform, const char* text,
                    const std::vector<HostTensor>& inputs) {
  return unwrap(testing::run_for_tensor(platform, text::parse(text, "test"), inputs));
}

HostTensor random_values() {
  HostTensor x = HostTensor::zeros(DType::kF32, {kLength});
  RandomStream rng(1, "values");
  // Many ties.
  for (int64_t i = 0; i < kLength; ++i) x.set_f64(i, static_cast<double>(rng.below(5000)) - 2500);
  return x;
}

TEST(LongRow, SortsStably) {
  HostTensor x = random_values();
  std::vector<int64_t> order(kLength);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return x.at_f64(a) < x.at_f64(b); });
  for (const char* platform : {"cpu", "opencl"}) {
    HostTensor found = run_text(platform, R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), i32) {
  y: Tensor((n,), i32) = argsort(x)
  return y
}
)",
                                {x});
    for (int64_t i = 0; i < kLength; ++i) ASSERT_EQ(found.at_f64(i), order[i]) << platform;
  }
}

TEST(LongRow, ScattersInOrder) {
  HostTensor x = random_values(), indices = HostTensor::zeros(DType::kI32, {kLength});
  RandomStream rng(2, "indices");
  std::vector<double> expected(kLength);
  for (int64_t i = 0; i < kLength; ++i) expected[i] = x.at_f64(i);
  for (int64_t i = 0; i < kLength; ++i) {
    int64_t at = rng.below(kLength);
    indices.set_f64(i, static_cast<double>(at));
    expected[at] += x.at_f64(i);
  }
  for (const char* platform : {"cpu", "opencl"}) {
    HostTensor found = run_text(platform, R"(
def main(x: Tensor((n,), f32), i: Tensor((n,), i32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = scatter_add(x, i, x) {axis: 0}
  return y
}
)",
                                {x, indices});
    for (int64_t i = 0; i < kLength; ++i) ASSERT_EQ(found.at_f64(i), expected[i]) << platform;
  }
}

}  // namespace
}  // namespace tapml
