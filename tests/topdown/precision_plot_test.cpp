// Errors of an output beside those of honest rounding: counted, and drawn.
#include "topdown/report/precision_plot.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/well_formed.h"
#include "topdown/wrong_migration.h"

namespace tapml::topdown {
namespace {

// 100 elements of value 1 and deviation 1e-3, with the given errors in deviations and then none.
OutputPrecision precision_of(const std::vector<double>& errors) {
  const Shape shape = {100};
  HostTensor value = HostTensor::zeros(DType::kF32, shape);
  op::RefTensor reference = op::RefTensor::zeros(DType::kF32, shape);
  for (op::RefBounds* part : {&reference.bound, &reference.systematic, &reference.deviation}) {
    part->assign(100, 0);
  }
  for (size_t i = 0; i < 100; ++i) {
    // Different elements count, each of them.
    const double exact = 1 + 0.001 * static_cast<double>(i);
    reference.values[i] = exact;
    reference.bound[i] = 1;
    reference.deviation[i] = 1e-3;
    const double error = i < errors.size() ? errors[i] : 0;
    value.set_f64(static_cast<int64_t>(i), exact + 1e-3 * error);
  }
  return output_precision(value, reference);
}

TEST(ErrorHistogram, CountsElementsByTheirDeviations) {
  const OutputPrecision precision = precision_of({0.2, -0.3, 1.5, -1.5, 3, 900});
  const std::vector<int64_t> expected = {94, 1, 1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(precision.histogram, expected);
  EXPECT_EQ(std::accumulate(expected.begin(), expected.end(), int64_t{0}), precision.elements);
}

TEST(ErrorHistogram, TheWidestHonestOneIsNormal) {
  const std::vector<double> honest = widest_honest_histogram(10000);
  ASSERT_EQ(honest.size(), kErrorBins.size() + 1);
  EXPECT_NEAR(honest[0] + honest[1] + honest[2] + honest[3], 6826.9, 0.1);  // within 1
  EXPECT_NEAR(honest[4], 2718.1, 0.1);                                      // 1 to 2
  EXPECT_LT(honest[6], 1);
  EXPECT_NEAR(std::accumulate(honest.begin(), honest.end(), 0.0), 10000, 1e-6);
}

TEST(PrecisionPlot, DrawsBarsAndTheHonestLimit) {
  const OutputPrecision precision = precision_of({0.2, -0.3, 1.5, -1.5, 3, 900});
  const std::string plot = precision_plot(precision);
  EXPECT_EQ(testing::markup_fault("<div>" + plot + "</div>"), "");
  EXPECT_EQ(count_in(plot, "class=\"bar far\""), 1) << "the element 900 deviations off";
  EXPECT_EQ(count_in(plot, "class=\"bar\""), 13);
  EXPECT_NE(plot.find("more than 512 deviations: 1 elements; 0 by the widest"), std::string::npos);
  EXPECT_EQ(precision_plot({}), "");
}

TEST(PrecisionPlot, APageHasOneForEachKernelWithDeviations) {
  Migration migration = wrong_migration();
  EXPECT_EQ(count_in(migration_html(migration, nasty_texts()), "Errors and honest rounding"), 0);
  for (MigrationStep& step : migration.steps) {
    step.verdict.worst.target.precision = precision_of({2});
  }
  const std::string page = migration_html(migration, nasty_texts());
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_EQ(count_in(page, "<h2 id=\"precision\""), 1);
  const auto all = std::ssize(migration.steps);
  const auto wrong = std::ssize(migration.culprits());
  EXPECT_EQ(count_in(page, "Number of elements by their errors in deviations"), all + wrong);
}

}  // namespace
}  // namespace tapml::topdown
