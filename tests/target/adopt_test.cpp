// Targets with work groups, completed from a session's device.
#include <gtest/gtest.h>

#include <set>

#include "target/target.h"

namespace tapml::testing {
namespace {

target::Description adopted(const std::string& text, DeviceKind kind, int64_t width) {
  DeviceInfo info;
  info.kind = kind;
  info.limits.subgroup_width = width;
  target::Target target = target::parse_target(text);
  target::adopt_device(target, info);
  return target.description;
}

constexpr DeviceKind kProcessor = DeviceKind::kProcessor, kGpu = DeviceKind::kGpu;

TEST(AdoptDevice, VulkanTakesTheWidthOfItsSubgroups) {
  for (const auto& [kind, width] : {std::pair(kProcessor, 8), {kGpu, 32}, {kGpu, 64}}) {
    const target::Description d = adopted("vulkan", kind, width);
    EXPECT_TRUE(d.features.subgroups);
    EXPECT_EQ(d.subgroup_width, width);
    EXPECT_EQ(d.cpu_like_subgroups, kind == kProcessor);
    EXPECT_FALSE(d.cpu_like_groups);
  }
  // Pipelines cannot request one.
  for (DeviceKind kind : {kProcessor, kGpu}) {
    const target::Description d = adopted("vulkan", kind, 0);
    EXPECT_FALSE(d.features.subgroups);
    EXPECT_FALSE(d.cpu_like_subgroups);
  }
}

TEST(AdoptDevice, OpenClTakesTheKindOfItsDevice) {
  EXPECT_TRUE(adopted("opencl", kProcessor, 0).cpu_like_groups);
  EXPECT_FALSE(adopted("opencl", kGpu, 0).cpu_like_groups);
  EXPECT_FALSE(adopted("opencl", kProcessor, 8).cpu_like_subgroups);
}

TEST(AdoptDevice, OptionsWin) {
  EXPECT_FALSE(adopted("opencl:groups=gpu", kProcessor, 0).cpu_like_groups);
  EXPECT_TRUE(adopted("opencl:groups=cpu", kGpu, 0).cpu_like_groups);
  EXPECT_FALSE(adopted("vulkan:groups=gpu", kProcessor, 8).cpu_like_subgroups);
  EXPECT_EQ(adopted("vulkan:groups=gpu", kProcessor, 8).subgroup_width, 8);
  EXPECT_FALSE(adopted("vulkan:subgroups=0", kProcessor, 8).features.subgroups);
  EXPECT_FALSE(adopted("vulkan:subgroups=0", kProcessor, 8).cpu_like_subgroups);
  EXPECT_EQ(adopted("vulkan:subgroups=16", kGpu, 32).subgroup_width, 16);
  EXPECT_EQ(adopted("vulkan:for=rdna3", kGpu, 32).subgroup_width, 64);
  EXPECT_FALSE(adopted("vulkan:for=rtx", kProcessor, 8).cpu_like_subgroups);
  EXPECT_TRUE(adopted("vulkan:for=lavapipe", kGpu, 32).cpu_like_subgroups);
}

// A server's description arrives over the network.
TEST(AdoptDevice, IgnoresInvalidWidths) {
  for (int64_t width : {int64_t{-8}, int64_t{1}, int64_t{3}, int64_t{256}, INT64_MAX, INT64_MIN}) {
    const target::Description d = adopted("vulkan", kGpu, width);
    EXPECT_FALSE(d.features.subgroups) << width;
    EXPECT_EQ(d.subgroup_width, 1) << width;
  }
  const target::Description d = adopted("vulkan", DeviceKind::kUnknown, 32);
  EXPECT_FALSE(d.features.subgroups);
  EXPECT_TRUE(adopted("opencl", DeviceKind::kUnknown, 32).cpu_like_groups);
}

// Cached kernels belong to such a device.
TEST(AdoptDevice, IdentitiesDistinguishDevices) {
  std::set<std::string> identities;
  for (const auto& [kind, width] :
       {std::pair(kProcessor, 8), {kProcessor, 0}, {kGpu, 8}, {kGpu, 32}}) {
    identities.insert(target::device_identity(adopted("vulkan", kind, width)));
  }
  EXPECT_EQ(identities.size(), 4u);
  EXPECT_NE(target::device_identity(adopted("opencl", kProcessor, 0)),
            target::device_identity(adopted("opencl", kGpu, 0)));
}

}  // namespace
}  // namespace tapml::testing
