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

DeviceInfo reporting(int64_t threads, int64_t local, int64_t binding, int64_t bindings,
                     int64_t alignment) {
  DeviceInfo info;
  info.kind = kGpu;
  info.limits.max_workgroup_threads = threads;
  info.limits.max_local_memory = local;
  info.limits.max_binding_bytes = binding;
  info.limits.max_bindings = bindings;
  info.limits.buffer_alignment = alignment;
  info.features.storage_dtypes = {DType::kF32, DType::kF16, DType::kI32, DType::kI8};
  info.features.compute_dtypes = {DType::kF32, DType::kF16, DType::kI32};
  info.features.local_memory = true;
  return info;
}

target::Description adopted(const std::string& text, const DeviceInfo& info) {
  target::Target target = target::parse_target(text);
  target::adopt_device(target, info);
  return target.description;
}

// Schedules of groups are made for the platform's figures; bindings follow the device.
TEST(AdoptDevice, TakesTheLimitsOfTheDevice) {
  const Limits more =
      adopted("vulkan", reporting(1024, 48 << 10, int64_t{4} << 30, 200, 16)).limits;
  EXPECT_EQ(more.max_workgroup_threads, 128);
  EXPECT_EQ(more.max_local_memory, 16 << 10);
  EXPECT_EQ(more.max_binding_bytes, int64_t{4} << 30);
  EXPECT_EQ(more.max_bindings, 64);
  EXPECT_EQ(more.buffer_alignment, 16);
  const Limits less = adopted("vulkan", reporting(32, 8 << 10, 64 << 20, 8, 256)).limits;
  EXPECT_EQ(less.max_workgroup_threads, 32);
  EXPECT_EQ(less.max_local_memory, 8 << 10);
  EXPECT_EQ(less.max_binding_bytes, 64 << 20);
  EXPECT_EQ(less.max_bindings, 8);
  // OpenCL binds buffers whole.
  const Limits opencl = adopted("opencl", reporting(32, 8 << 10, 64 << 20, 8, 256)).limits;
  EXPECT_EQ(opencl.max_workgroup_threads, 32);
  EXPECT_EQ(opencl.max_binding_bytes, 0);
  EXPECT_EQ(opencl.max_bindings, 0);
  // An option that names a device wins.
  EXPECT_EQ(adopted("vulkan:for=rtx", reporting(32, 8 << 10, 64 << 20, 8, 256)).limits.max_bindings,
            200);
  EXPECT_EQ(adopted("vulkan", reporting(1, 1, 1, 1, int64_t{1} << 40)).limits.buffer_alignment,
            256);
  for (int64_t invalid : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    const Limits kept =
        adopted("vulkan", reporting(invalid, invalid, invalid, invalid, invalid)).limits;
    EXPECT_EQ(kept.max_workgroup_threads, 128);
    EXPECT_EQ(kept.max_local_memory, 16 << 10);
    EXPECT_EQ(kept.max_binding_bytes, 128 << 20);
    EXPECT_EQ(kept.max_bindings, 24);
    EXPECT_EQ(kept.buffer_alignment, 256);
  }
}

TEST(AdoptDevice, TakesTheDTypesOfTheDevice) {
  DeviceInfo info = reporting(128, 16 << 10, 128 << 20, 24, 256);
  const Features features = adopted("vulkan", info).features;
  EXPECT_EQ(features.storage_dtypes, (std::set{DType::kF32, DType::kF16, DType::kI32, DType::kI8}));
  EXPECT_EQ(features.compute_dtypes, (std::set{DType::kF16, DType::kF32, DType::kI32}));
  EXPECT_EQ(adopted("vulkan:f16=f32", info).features.compute_dtypes,
            (std::set{DType::kF32, DType::kI32}));
  DeviceInfo without = info;
  without.features.compute_dtypes.erase(DType::kF16);
  EXPECT_FALSE(adopted("vulkan", without).features.compute_dtypes.contains(DType::kF16));
  EXPECT_TRUE(adopted("opencl:f16=native", without).features.compute_dtypes.contains(DType::kF16));
  EXPECT_TRUE(features.narrow_stores && features.local_memory);
  info.features.narrow_stores = info.features.local_memory = false;
  EXPECT_FALSE(adopted("vulkan", info).features.narrow_stores);
  EXPECT_FALSE(adopted("vulkan", info).features.local_memory);
  // Nothing is known of a device that reports no dtypes.
  info.features.storage_dtypes.clear();
  EXPECT_TRUE(adopted("vulkan", info).features.storage_dtypes.contains(DType::kF64));
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
  identities.clear();
  DeviceInfo other = reporting(128, 16 << 10, 128 << 20, 24, 256);
  identities.insert(target::device_identity(adopted("vulkan", other)));
  other.features.narrow_stores = false;
  identities.insert(target::device_identity(adopted("vulkan", other)));
  other.features.compute_dtypes.erase(DType::kI32);
  identities.insert(target::device_identity(adopted("vulkan", other)));
  other.limits.max_binding_bytes = 64 << 20;
  identities.insert(target::device_identity(adopted("vulkan", other)));
  EXPECT_EQ(identities.size(), 4u);
}

}  // namespace
}  // namespace tapml::testing
