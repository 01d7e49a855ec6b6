// Honest rounding passes in every order of summation; lower precision is found at every width.
#include "topdown/reference_run/output_precision.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "accuracy/wide_products.h"
#include "support/sanitized.h"

namespace tapml::topdown {
namespace {

// The reference under each suspected cause.
class Causes {
 public:
  explicit Causes(const Product& product) : reference_(product.reference()) {
    for (const SuspectedCause& cause : suspected_causes()) {
      references_.push_back(product.reference(cause.products));
    }
  }

  // The likely cause of the errors of `value`, as after a carved call; empty: none.
  std::string find(const HostTensor& value) const {
    std::string best;
    double explained = 0;
    for (size_t i = 0; i < references_.size(); ++i) {
      const CauseFit fit = fit_cause(value, reference_, references_[i]);
      if (fit.found() && fit.explained > explained) {
        explained = fit.explained;
        best = suspected_causes()[i].name;
      }
    }
    return best;
  }

 private:
  op::RefTensor reference_;
  std::vector<op::RefTensor> references_;
};

TEST(OutputPrecision, EveryHonestOrderPassesAtEveryWidth) {
  uint64_t seed = 0;
  for (size_t k : {64, 576, 4096, 28672}) {
    for (Data data : kAllData) {
      for (const auto& [in, out] : {std::pair(kF32, kF32),
                                    {kF16, kF16},
                                    {kBF16, kBF16},
                                    {kF16, kF32},
                                    {kBF16, kF32},
                                    {kF32, kF16}}) {
        const size_t n = k > 4096 ? 24 : 96;
        const Product product(k, n, in, out, data, ++seed);
        const op::RefTensor reference = product.reference();
        for (const Order& order : kOrders) {
          const HostTensor value = product.run(order.sum);
          const Errors errors = measure(value, reference, {});
          ASSERT_TRUE(is_right(errors))
              << order.name << ", " << description(product, data) << ", seed " << seed << ": "
              << precision_text(errors.precision) << ", error over bound " << errors.max_ratio;
          ASSERT_EQ(errors.precision.elements, static_cast<int64_t>(n));
        }
      }
    }
  }
}

TEST(OutputPrecision, HonestOrdersHaveNoCause) {
  for (size_t k : {576, 11008}) {
    for (Data data : kAllData) {
      const Product product(k, 192, kF32, kF32, data, 500 + k);
      const Causes causes(product);
      for (const Order& order : kOrders) {
        EXPECT_EQ(causes.find(product.run(order.sum)), "")
            << order.name << ", " << description(product, data);
      }
    }
  }
}

TEST(OutputPrecision, ManySmallTensorsPass) {
  std::mt19937_64 random(11);
  constexpr int kTensors = testing::kSanitized ? 1'000 : 100'000;
  for (int i = 0; i < kTensors; ++i) {
    const size_t k = 1 + random() % 96, n = 1 + random() % 24;
    const Data data = kAllData[random() % 3];
    const DType in = i % 3 == 0 ? kF16 : i % 3 == 1 ? kBF16 : kF32;
    const DType out = i % 2 == 0 ? kF32 : in;
    const Product product(k, n, in, out, data, random());
    const Order& order = kOrders[random() % std::size(kOrders)];
    const Errors errors = measure(product.run(order.sum), product.reference(), {});
    ASSERT_TRUE(is_right(errors)) << "tensor " << i << ", " << order.name << ", "
                                  << description(product, data) << ": "
                                  << precision_text(errors.precision) << ", error over bound "
                                  << errors.max_ratio;
  }
}

struct Fault {
  const char* name;
  Product::Sum sum;
  const char* cause;  // that is named; null: any
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"f16 activations", lowered<f16, same, same>, "activations rounded to f16 or TF32"},
      {"f16 operands", lowered<f16, f16, same>, "operands rounded to f16 or TF32"},
      {"f16 products", lowered<same, same, f16>, "products rounded to f16"},
      {"f16 operands and products", lowered<f16, f16, f16>, "operands and products rounded to f16"},
      {"bf16 activations", lowered<bf16, same, same>, "activations rounded to bf16"},
      {"bf16 operands", lowered<bf16, bf16, same>, "operands rounded to bf16"},
      {"TF32", lowered<tf32, tf32, same>, "operands rounded to f16 or TF32"},
      {"TF32 by truncation", lowered<cut, cut, same>, "operands truncated to TF32"},
      {"times 1.0001",
       [](const float* x, const float* w, size_t k) { return 1.0001F * lanes<16>(x, w, k); },
       nullptr},
      {"f16 partial sums",
       [](const float* x, const float* w, size_t k) {
         double sums[16] = {}, sum = 0;
         for (size_t i = 0; i < k; ++i) sums[i % 16] = f16(sums[i % 16] + double{x[i]} * w[i]);
         for (double lane : sums) sum = f16(sum + lane);
         return sum;
       },
       nullptr},
      {"without its last term",
       [](const float* x, const float* w, size_t k) { return lanes<16>(x, w, k - 1); }, nullptr},
  };
  return all;
}

TEST(OutputPrecision, LowerPrecisionIsFoundAndNamedAtEveryWidth) {
  uint64_t seed = 1000;
  for (size_t k : {64, 4096, 28672}) {
    for (Data data : {Data::kNormal, Data::kOutliers}) {
      const Product product(k, 192, kF32, kF32, data, ++seed);
      const op::RefTensor reference = product.reference();
      const Causes causes(product);
      for (const Fault& fault : faults()) {
        const HostTensor value = product.run(fault.sum);
        const Errors errors = measure(value, reference, {});
        EXPECT_FALSE(is_right(errors))
            << fault.name << ", " << description(product, data) << ": rms " << errors.precision.rms;
        if (fault.cause != nullptr) {
          EXPECT_EQ(causes.find(value), fault.cause)
              << fault.name << ", " << description(product, data);
        }
      }
    }
  }
}

// Terms of one sign: honest sequential sums have larger errors than most faults. Their shape tells
// them apart.
TEST(OutputPrecision, CausesAreFoundInSumsOfOneSign) {
  uint64_t seed = 2000;
  for (size_t k : {4096, 28672}) {
    const Product product(k, 768, kF32, kF32, Data::kPositive, ++seed);
    const op::RefTensor reference = product.reference();
    const Causes causes(product);
    for (const Fault& fault : faults()) {
      if (fault.cause == nullptr) continue;
      const HostTensor value = product.run(fault.sum);
      const bool seen = !is_right(measure(value, reference, {}));
      const std::string cause = causes.find(value);
      EXPECT_TRUE(seen || !cause.empty()) << fault.name << ", K " << k;
    }
  }
}

TEST(OutputPrecision, AGainIsFoundInRoundedOutputs) {
  for (DType out : {kF16, kBF16}) {
    const Product product(1024, 4096, out, out, Data::kNormal, 5);
    const auto exact = [](const float* x, const float* w, size_t k) { return lanes<16>(x, w, k); };
    const op::RefTensor reference = product.reference();
    EXPECT_TRUE(is_right(measure(product.run(exact), reference, {})));
    const double factor = out == kF16 ? 1.0001 : 1.001;
    const Errors errors = measure(product.run([&](const float* x, const float* w, size_t k) {
      return factor * exact(x, w, k);
    }),
                                  reference, {});
    EXPECT_EQ(errors.precision.where, "the gain") << dtype_name(out);
    EXPECT_NEAR(errors.precision.gain, factor - 1, 5e-5 * (out == kF16 ? 1 : 8));
  }
}

TEST(OutputPrecision, OneWrongRowIsNamed) {
  const size_t k = 4096, n = 64, rows = 32;
  const Product product(k, n, kF32, kF32, Data::kNormal, 9);
  const op::RefTensor one = product.reference();
  op::RefTensor many =
      op::RefTensor::zeros(kF32, {static_cast<int64_t>(rows), static_cast<int64_t>(n)});
  many.systematic.assign(rows * n, 0);
  many.deviation.assign(rows * n, 0);
  HostTensor value = HostTensor::zeros(kF32, many.shape);
  const HostTensor right = product.run(lanes<16>);
  for (size_t i = 0; i < rows * n; ++i) {
    many.values[i] = one.values[i % n];
    many.bound[i] = one.bound[i % n];
    many.deviation[i] = one.deviation[i % n];
    // Within each element's bound.
    const double error = i / n == 7 ? 5 * one.deviation[i % n] : 0;
    value.set_f64(static_cast<int64_t>(i), right.at_f64(static_cast<int64_t>(i % n)) + error);
    // Equal elements would count once.
    const auto row = i / n;
    many.values[i] += 1e-13 * static_cast<double>(row);
  }
  const Errors errors = measure(value, many, {});
  EXPECT_TRUE(within_bound(errors)) << errors.max_ratio;
  EXPECT_EQ(errors.precision.where, "row 7");
}

// One element with a large effect agrees with a cause by chance; many of them are evidence.
TEST(OutputPrecision, OneElementTellsOfNoCause) {
  constexpr int64_t kElements = 220;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  HostTensor value = HostTensor::zeros(DType::kF32, {kElements});
  op::RefTensor reference = op::RefTensor::from(value), cause = reference;
  reference.bound = std::vector<double>(kElements, 1.0);
  reference.systematic = std::vector<double>(kElements, 0.0);
  reference.deviation = std::vector<double>(kElements, 1.0);
  for (size_t i = 0; i < kElements; ++i) {
    reference.values[i] = normal(random);
    cause.values[i] = reference.values[i] + normal(random);
    value.set_f64(static_cast<int64_t>(i), reference.values[i] + normal(random));
  }
  const auto found = [&] { return fit_cause(value, reference, cause).found(); };
  EXPECT_FALSE(found());
  const auto put_effects = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      cause.values[at] = reference.values[at] + 4000 * (i % 2 == 0 ? 1 : -1);
      value.set_f64(i, reference.values[at] + 2800 * (i % 2 == 0 ? 1 : -1));
    }
  };
  put_effects(1);
  EXPECT_FALSE(found());
  put_effects(16);
  EXPECT_TRUE(found());
}

TEST(OutputPrecision, EqualElementsAreOneObservation) {
  // One sum that is 3 deviations off, written to 10,000 elements.
  op::RefTensor reference =
      op::RefTensor::from(host_tensor(kF32, {100, 100}, std::vector<float>(10'000, 1)));
  reference.bound.assign(10'000, 1e-3);
  reference.systematic.assign(10'000, 0);
  reference.deviation.assign(10'000, 1e-4);
  const HostTensor value = host_tensor(kF32, {100, 100}, std::vector<float>(10'000, 1.0003F));
  EXPECT_TRUE(is_right(measure(value, reference, {})));
}

}  // namespace
}  // namespace tapml::topdown
