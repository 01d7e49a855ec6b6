// Above the limit, only a sample of a kernel's output is compared with the reference: the elements
// with the largest difference between source and target, and random ones in all parts of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "base/rng.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/replay/replay.h"

namespace tapml::topdown {
namespace {

// One call of a matmul kernel [n, 8] x [n, 8]^T; of 128: 131,072 multiply-adds, 16,384 elements.
Suite matmul_suite(int64_t n = 128) {
  const std::string x_type = "Tensor((" + std::to_string(n) + ", 8), f32)",
                    y_type = "Tensor((" + std::to_string(n) + ", " + std::to_string(n) + "), f32)";
  Module module = passes::legalize(
      text::parse("def main(x: " + x_type + ", w: " + x_type + ") -> " + y_type + R"( {
  dataflow {
    y: )" + y_type + R"( = matmul(x, w) {transpose_b: true}
    output y
  }
  return y
}
)",
                  "test"));
  Suite suite;
  SuiteKernel kernel;
  for (const auto& [name, function] : module.functions) {
    if (passes::is_kernel(function.get())) kernel.name = name;
  }
  module.functions.erase("main");
  kernel.spec = text::print(module);
  kernel.params = {"a", "b", "out"};
  kernel.modes = {AccessMode::kIn, AccessMode::kIn, AccessMode::kOut};
  HostTensor x = HostTensor::zeros(DType::kF32, {n, 8});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, 0.01 * static_cast<double>(i % 37));
  HostTensor y = HostTensor::zeros(DType::kF32, {n, n});
  const std::span<const float> rows = x.values<float>();
  const std::span<float> sums = y.mutable_values<float>();
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    for (size_t j = 0; j < static_cast<size_t>(n); ++j) {
      double sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += double{rows[i * 8 + k]} * rows[j * 8 + k];
      sums[i * static_cast<size_t>(n) + j] = static_cast<float>(sum);
    }
  }
  suite.tensors = {{"x", x}, {"y", y}};
  SuiteCall call;
  call.before = {"x", "x", ""};
  call.after = {"", "", "y"};
  suite.kernels = {kernel};
  suite.calls = {call};
  return suite;
}

TEST(SampledReference, ComparesEverythingBelowTheLimit) {
  Suite suite = matmul_suite();
  KernelReference reference(suite);
  const HostTensor& y = suite.tensors.at("y");
  Comparison all = compare(y, y, reference.outputs(0, {y})[0]);
  EXPECT_EQ(all.target.compared, 128 * 128);
  EXPECT_EQ(all.outcome, Outcome::kPass);
}

TEST(SampledReference, FindsTheElementThatDiffersMost) {
  Suite suite = matmul_suite();
  KernelReference reference(suite, 1000);
  HostTensor wrong = HostTensor::zeros(DType::kF32, {128, 128});
  for (int64_t i = 0; i < wrong.size(); ++i) {
    wrong.set_f64(i, suite.tensors.at("y").at_f64(i) + (i == 9999 ? 0.5 : 0));
  }
  Comparison comparison = compare(wrong, suite.tensors.at("y"), reference.outputs(0, {wrong})[0]);
  EXPECT_GE(comparison.target.compared, KernelReference::kSampleSize);
  EXPECT_EQ(comparison.outcome, Outcome::kFail);
  EXPECT_EQ(comparison.target.worst, 9999);
  EXPECT_NEAR(comparison.target.max_abs, 0.5, 1e-5);
}

// Masks are full of equal infinities, which do not count as differences.
TEST(SampledReference, FindsADifferenceAmongEqualInfinities) {
  Suite suite = matmul_suite();
  const double infinity = std::numeric_limits<double>::infinity();
  HostTensor wrong = HostTensor::zeros(DType::kF32, {128, 128});
  HostTensor& y = suite.tensors.at("y");
  for (int64_t i = 0; i < wrong.size(); ++i) {
    if (i % 2 == 0) y.set_f64(i, i % 4 == 0 ? -infinity : std::nan(""));
    wrong.set_f64(i, y.at_f64(i));
  }
  wrong.set_f64(9999, y.at_f64(9999) + 0.5);
  KernelReference reference(suite, 1000);
  EXPECT_EQ(reference.outputs(0, {wrong})[0].wanted[9999], 1);
}

// Whether one of as many elements that are drawn from the whole output has the fault.
using Fault = std::function<bool(int64_t element)>;
bool plain_draws_see(int64_t size, const Fault& is_faulty) {
  RandomStream random(0, "plain");
  for (int64_t drawn = 0; drawn < kDrawnElements; ++drawn) {
    if (is_faulty(random.between(0, size - 1))) return true;
  }
  return false;
}
bool draws_see(const std::vector<int64_t>& drawn, const Fault& is_faulty) {
  return std::ranges::any_of(drawn, is_faulty);
}
// The elements that a sample of an output draws.
std::vector<int64_t> draws_of(const HostTensor& output,
                              const std::vector<HostTensor>& choices = {}) {
  const std::vector<uint8_t> flags = sampled_elements(output, output, choices, "seed");
  std::vector<int64_t> drawn;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == op::kRandomlyWanted) drawn.push_back(static_cast<int64_t>(i));
  }
  return drawn;
}

// Source and target have the same fault, so that no difference leads to it.
TEST(SampledReference, DrawsCoverEveryPartOfAWideOutput) {
  struct Case {
    const char* name;
    Shape shape;
    std::function<Fault(int64_t at)> fault;  // in one part
    int64_t parts;
  };
  const auto in_row = [](int64_t width) {
    return [=](int64_t row) -> Fault { return [=](int64_t i) { return i / width == row; }; };
  };
  const auto in_columns = [](int64_t width, int64_t tile) {
    return [=](int64_t at) -> Fault { return [=](int64_t i) { return i % width / tile == at; }; };
  };
  const Case cases[] = {
      {"one row of 4,096", {4096, 4096}, in_row(4096), 4096},
      {"one head of one token", {1, 128, 32, 128}, in_row(128), 4096},
      {"16 columns of 11,008", {64, 11008}, in_columns(11008, 16), 688},
      {"16 columns of the logits of 32,000 tokens", {8, 32000}, in_columns(32000, 16), 2000},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const HostTensor output = HostTensor::zeros(DType::kF16, test.shape);
    const std::vector<int64_t> drawn = draws_of(output);
    int64_t missed_by_plain = 0;
    for (int64_t part = 0; part < test.parts; ++part) {
      const Fault fault = test.fault(part);
      EXPECT_TRUE(draws_see(drawn, fault)) << "part " << part;
      if (part % 16 == 0 && !plain_draws_see(output.size(), fault)) ++missed_by_plain;
    }
    EXPECT_GT(missed_by_plain, 0) << "the case shows nothing";
  }
}

TEST(SampledReference, DrawsCoverTails) {
  // The last column is behind the last whole tile.
  const HostTensor output = HostTensor::zeros(DType::kF16, {512, 11009});
  const Fault in_tail = [](int64_t i) { return i % 11009 == 11008; };
  EXPECT_TRUE(draws_see(draws_of(output), in_tail));
  EXPECT_FALSE(plain_draws_see(output.size(), in_tail));
  // Of more rows than are drawn alone, the last one.
  const HostTensor high = HostTensor::zeros(DType::kF16, {50000, 64});
  const Fault in_last_row = [](int64_t i) { return i / 64 == 49999; };
  EXPECT_TRUE(draws_see(draws_of(high), in_last_row));
  EXPECT_FALSE(plain_draws_see(high.size(), in_last_row));
}

// 64 experts take 50,000 rows; expert 37 takes one or two of them.
TEST(SampledReference, DrawsCoverEveryExpert) {
  const HostTensor output = HostTensor::zeros(DType::kF16, {50000, 64});
  const std::vector<int64_t> without_choice = draws_of(output);
  int64_t row = 31234;
  const Fault in_pair = [&](int64_t i) { return i / 64 / 2 == row / 2; };
  while (draws_see(without_choice, in_pair)) row += 2;
  for (const int64_t rows_of_choice : {1, 2}) {
    HostTensor experts = HostTensor::zeros(DType::kI32, {50000 / rows_of_choice});
    for (int64_t i = 0; i < experts.size(); ++i) {
      const int64_t expert = i % 64;
      experts.set_f64(i, static_cast<double>(expert == 37 ? 36 : expert));
    }
    const int64_t place = row / rows_of_choice;
    experts.set_f64(place, 37);
    const Fault of_expert = [=](int64_t i) { return i / 64 / rows_of_choice == place; };
    EXPECT_TRUE(draws_see(draws_of(output, {experts}), of_expert));
    EXPECT_FALSE(draws_see(without_choice, of_expert));
  }
}

TEST(SampledReference, FindsAWrongRowThatTheSourceHasToo) {
  constexpr int64_t kSize = 4096, kRow = 2345;
  Suite suite = matmul_suite(kSize);
  HostTensor& y = suite.tensors.at("y");
  KernelReference reference(suite, 1000);
  EXPECT_EQ(compare(y, y, reference.outputs(0, {y})[0]).outcome, Outcome::kPass);
  for (int64_t i = kRow * kSize; i < (kRow + 1) * kSize; ++i) y.set_f64(i, 1.01 * y.at_f64(i));
  const Comparison comparison = compare(y, y, reference.outputs(0, {y})[0]);
  EXPECT_GE(comparison.target.compared, KernelReference::kSampleSize);
  EXPECT_LT(comparison.target.compared, 3 * KernelReference::kSampleSize);
  EXPECT_EQ(comparison.outcome, Outcome::kFail);
  EXPECT_EQ(comparison.target.worst / kSize, kRow);
}

TEST(SampledReference, IsDeterministic) {
  Suite suite = matmul_suite();
  const HostTensor& y = suite.tensors.at("y");
  KernelReference a(suite, 1000), b(suite, 1000);
  EXPECT_EQ(a.outputs(0, {y})[0].wanted, b.outputs(0, {y})[0].wanted);
}

}  // namespace
}  // namespace tapml::topdown
