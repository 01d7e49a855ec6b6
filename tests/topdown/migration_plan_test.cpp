// The order in which a migration tries kernels, one by one or in groups.
#include "topdown/migrate/migration_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/expect_error.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

class MigrationOrders : public ::testing::Test {
 protected:
  Suite suite_ = carved();
  KernelReference reference_{suite_};

  std::vector<std::string> planned(const PlanOptions& options) {
    std::vector<std::string> names;
    for (const MigrationUnit& unit :
         plan_migration(suite_, reference_, *small_model().executable, options)) {
      for (int32_t kernel : unit.kernels) {
        names.push_back(suite_.kernels[static_cast<size_t>(kernel)].name);
      }
    }
    return names;
  }
  std::vector<MigrationUnit> units(const PlanOptions& options) {
    return plan_migration(suite_, reference_, *small_model().executable, options);
  }
};

TEST_F(MigrationOrders, ExecutionFollowsTheSuite) {
  std::vector<std::string> expected;
  for (const SuiteKernel& kernel : suite_.kernels) expected.push_back(kernel.name);
  EXPECT_EQ(planned({}), expected);
}

TEST_F(MigrationOrders, CostFallsAndRiskFalls) {
  PlanOptions options;
  options.order = MigrationOrder::kCost;
  const std::vector<std::string> by_cost = planned(options);
  options.order = MigrationOrder::kRisk;
  const std::vector<std::string> by_risk = planned(options);
  for (size_t i = 0; i + 1 < by_cost.size(); ++i) {
    EXPECT_GE(kernel_cost(suite_, reference_, suite_.find_kernel(by_cost[i])),
              kernel_cost(suite_, reference_, suite_.find_kernel(by_cost[i + 1])));
    EXPECT_GE(kernel_risk(suite_, reference_, suite_.find_kernel(by_risk[i]), ""),
              kernel_risk(suite_, reference_, suite_.find_kernel(by_risk[i + 1]), ""));
  }
  EXPECT_TRUE(std::ranges::is_permutation(by_cost, planned({})));
  EXPECT_TRUE(std::ranges::is_permutation(by_risk, planned({})));
  // A kernel that reads a data-dependent number of pages precedes one that only writes them.
  EXPECT_TRUE(by_risk[0].starts_with("paged_attention")) << by_risk[0];
  EXPECT_FALSE(by_cost[0].starts_with("rms_norm")) << by_cost[0];
}

TEST_F(MigrationOrders, CostIsFlopsAndBytesOfAllCalls) {
  // rms_norm of [1, 5, h] and [1, h] ...: the bytes that it at least reads and writes; for a table
  // or a pool only the rows used, for pages as the data determines.
  for (int32_t kernel = 0; kernel < std::ssize(suite_.kernels); ++kernel) {
    double bytes = 0;
    for (const SuiteCall& call : suite_.calls) {
      if (call.kernel != kernel) continue;
      for (const auto* hashes : {&call.before, &call.after}) {
        for (const std::string& hash : *hashes) {
          if (!hash.empty()) bytes += static_cast<double>(suite_.tensors.at(hash).byte_size());
        }
      }
    }
    const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
    if (name.starts_with("paged_attention")) continue;
    if (name.starts_with("take") || name.starts_with("kv_append") || name.starts_with("slice")) {
      EXPECT_LT(kernel_cost(suite_, reference_, kernel), bytes) << name;
    } else {
      EXPECT_GE(kernel_cost(suite_, reference_, kernel), bytes) << name;
    }
  }
}

TEST_F(MigrationOrders, ACustomKernelIsTheRiskiest) {
  int64_t most = 0;
  for (int32_t kernel = 0; kernel < std::ssize(suite_.kernels); ++kernel) {
    most = std::max(most, kernel_risk(suite_, reference_, kernel, "schedule:elementwise"));
  }
  const int32_t norm = 0;
  EXPECT_GT(kernel_risk(suite_, reference_, norm, "user:norm.cl"),
            kernel_risk(suite_, reference_, norm, "library:openblas"));
  EXPECT_GT(kernel_risk(suite_, reference_, norm, "library:openblas"),
            kernel_risk(suite_, reference_, norm, "schedule:reduction"));
  EXPECT_GT(most, 1);
}

TEST_F(MigrationOrders, GroupsTakeTheirKernelsFirst) {
  PlanOptions options;
  options.by_layer = true;
  options.groups = {parse_kernel_group("norms=rms_norm_*,nothing*"), parse_kernel_group("rope*")};
  const std::vector<MigrationUnit> all = units(options);
  size_t kernels = 0;
  std::set<std::string> names;
  for (const MigrationUnit& unit : all) {
    EXPECT_TRUE(names.insert(unit.name).second) << unit.name << " twice";
    kernels += unit.kernels.size();
    for (int32_t kernel : unit.kernels) {
      const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
      EXPECT_EQ(name.starts_with("rms_norm_"), unit.name == "norms") << name;
      EXPECT_EQ(name.starts_with("rope"), unit.name == "rope*") << name;
    }
  }
  EXPECT_EQ(kernels, suite_.kernels.size());
  EXPECT_TRUE(names.contains("model.layers.*.self_attn")) << all[0].name;
  EXPECT_TRUE(names.contains("model.layers.*.mlp"));
  options.groups.push_back(parse_kernel_group("conv=conv*"));
  testing::expect_user_error([&] { units(options); }, {"--granularity conv", "rms_norm_"});
}

TEST(KernelGroups, BadTextIsRefused) {
  for (const char* text : {"", "=a", "a=", "a=b,,c", "a,"}) {
    testing::expect_user_error([&] { parse_kernel_group(text); }, {"--granularity", "GLOB"});
  }
}

}  // namespace
}  // namespace tapml::topdown
