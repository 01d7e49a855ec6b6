// Common setup of tests of the Vulkan device.
#pragma once

#include <gtest/gtest.h>

#include "device/vulkan/vulkan_context.h"
#include "support/glsl_module.h"

namespace tapml::test {

inline const testing::GlslKernel kOne = {"one", {"int"}, 1, "b0[i] = s0;"};

// The result of the expression, or a skip with the reason why Vulkan is unavailable.
#define TAPML_VULKAN_OR_SKIP(name, expression)                                   \
  auto name##_opened = (expression);                                             \
  if (!name##_opened && name##_opened.error().fault == PlatformFault::kAbsent) { \
    GTEST_SKIP() << name##_opened.error().to_string();                           \
  }                                                                              \
  ASSERT_TRUE(name##_opened) << name##_opened.error().to_string();               \
  [[maybe_unused]] const auto& name = *name##_opened

}  // namespace tapml::test
