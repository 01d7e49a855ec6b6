#include "device/module_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace tapml::device {
namespace {

class NoKernels final : public runtime::DeviceModule {
 public:
  Result<std::shared_ptr<runtime::DeviceKernel>> kernel(
      const std::string& entry) noexcept override {
    return fail(internal_error("there is no " + entry));
  }
};

class ModuleCacheTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<runtime::DeviceModule>> get(const std::string& text) {
    return cache_.get(sha256(text), [&]() -> Result<std::shared_ptr<runtime::DeviceModule>> {
      ++loads_;
      if (broken_) return fail(internal_error("broken"));
      return std::make_shared<NoKernels>();
    });
  }

  ModuleCache cache_;
  int loads_ = 0;
  bool broken_ = false;
};

TEST_F(ModuleCacheTest, LoadsOncePerKey) {
  const auto first = get("a"), again = get("a"), other = get("b");
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *other);
  EXPECT_EQ(loads_, 2);
}

TEST_F(ModuleCacheTest, FailuresAreTriedAgain) {
  broken_ = true;
  EXPECT_FALSE(get("a"));
  broken_ = false;
  EXPECT_TRUE(get("a"));
  EXPECT_EQ(loads_, 2);
}

TEST_F(ModuleCacheTest, HasACapacityAndModulesOutliveIt) {
  const auto kept = get("first");
  for (int i = 0; i < 256; ++i) ASSERT_TRUE(get(std::to_string(i)));
  EXPECT_EQ(loads_, 257);
  const auto again = get("first");
  EXPECT_EQ(loads_, 258);
  EXPECT_NE(*kept, *again);
}

}  // namespace
}  // namespace tapml::device
