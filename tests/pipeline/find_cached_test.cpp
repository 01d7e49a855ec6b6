// Kernels from the cache skip the steps up to record_requirements (kernel_cache_test.cpp has the
// keys and entries).
#include <gtest/gtest.h>

#include <set>

#include "pipeline/kernel_cache.h"
#include "steps_program.h"
#include "support/temp_folder.h"

namespace tapml::pipeline {
namespace {

class FindCached : public ::testing::Test {
 protected:
  // Compiles the program and returns the operators of the kernels that are lowered.
  std::set<std::string> generated(ImplementOptions options = {}, const char* target = "cpu") {
    std::set<std::string> kernels;
    options.cache = &cache_;
    options.instruments.after = [&](const std::string& step, const Module& module) {
      if (step != "lower_launches") return;
      for (const auto& [name, function] : module.functions) {
        // A launch has the kernel's name and a number.
        if (name.ends_with("_0")) kernels.insert(name.substr(0, name.find('_')));
      }
    };
    executable_ = compile_steps_program(target, options);
    return kernels;
  }

  testing::TempFolder folder_;
  KernelCache cache_{std::make_shared<DiskCache>(DiskCacheOptions{folder_ / "cache", {}})};
  std::shared_ptr<const Executable> executable_;
};

TEST_F(FindCached, CachedKernelsAreNotLoweredAgain) {
  EXPECT_EQ(generated(), (std::set<std::string>{"matmul", "softmax", "tanh"}));
  const auto first = executable_;
  EXPECT_EQ(generated(), std::set<std::string>());
  // Their requirements and launches are those of the first compilation.
  ASSERT_EQ(executable_->implementations.size(), first->implementations.size());
  for (size_t i = 0; i < first->implementations.size(); ++i) {
    const Implementation &one = first->implementations[i], &other = executable_->implementations[i];
    EXPECT_EQ(other.provider, one.provider);
    EXPECT_EQ(other.preparation, one.preparation);
    EXPECT_EQ(other.workspaces.size(), one.workspaces.size());
    ASSERT_EQ(other.launches.size(), one.launches.size());
    for (size_t j = 0; j < one.launches.size(); ++j) {
      EXPECT_EQ(other.launches[j].entry, one.launches[j].entry);
      EXPECT_EQ(other.launches[j].extent, one.launches[j].extent);
    }
  }
  EXPECT_EQ(executable_->modules.at(0).bytes, first->modules.at(0).bytes);
}

TEST_F(FindCached, OnlyTheKernelsThatChangedAreLowered) {
  generated();
  ImplementOptions options;
  options.scheduled_by_rules = [](const std::string& kernel) {
    return !kernel.starts_with("tanh_");
  };
  EXPECT_EQ(generated(options), std::set<std::string>{"tanh"});
}

TEST_F(FindCached, WithoutACacheOrForModulesOfSeveralKernelsAllAreLowered) {
  generated();
  ImplementOptions options;
  options.cache = &cache_;
  leave_out({"find_cached"}, "test", options);
  EXPECT_EQ(options.cache, nullptr);
  const std::set<std::string> all = {"matmul", "softmax", "tanh"};
  // OpenCL builds one module of all kernels, so single kernels are not kept.
  generated({}, "opencl");
  EXPECT_EQ(generated({}, "opencl"), all);
  options.module_per_kernel = true;
  generated(options, "opencl");
  EXPECT_EQ(generated(options, "opencl"), std::set<std::string>());
}

}  // namespace
}  // namespace tapml::pipeline
