// Pipelines: when they are created, and that they are cached.
#include <gtest/gtest.h>

#include "device/vulkan/vulkan_device.h"
#include "runtime/local_session.h"
#include "support/temp_folder.h"
#include "vulkan_or_skip.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::ModuleId;
using testing::glsl_module;

// The only key of a cache folder.
std::string only_pipeline_key(const std::string& folder) {
  for (const std::string& name : testing::names_under(folder)) {
    if (name.size() > 64) return name.substr(3, 2) + name.substr(6);  // v1/ab/cdef..
  }
  ADD_FAILURE() << "no entry in " << folder;
  return "";
}

TEST(VulkanPipelines, AreKeptBetweenProcesses) {
  TAPML_VULKAN_OR_SKIP(context, device::VulkanContext::open({}));
  testing::TempFolder folder;
  const ModuleBlob module = glsl_module({kOne});
  // A device of another process, with the given cache.
  auto runs = [&](std::shared_ptr<DiskCache>& disk) {
    disk = std::make_shared<DiskCache>(DiskCacheOptions{folder / "cache", {}});
    auto session = std::move(
        *runtime::LocalSession::create(*device::create_vulkan_device({.pipelines = disk})));
    EXPECT_TRUE(session->load_module(ModuleId{1}, module));
    EXPECT_TRUE(session->get_kernel(KernelId{1}, ModuleId{1}, "one"));
    EXPECT_TRUE(session->allocate(BufferId{1}, 64));
    BufferRange range{BufferId{1}, 0};
    int64_t scalar = 7;
    EXPECT_TRUE(session->launch(kDefaultStream,
                                {KernelId{1}, std::span(&range, 1), std::span(&scalar, 1), 4, 1}));
    int32_t value = 0;
    EXPECT_TRUE(session->read(kDefaultStream, {BufferId{1}, 12},
                              std::as_writable_bytes(std::span(&value, 1))));
    return value;
  };
  std::shared_ptr<DiskCache> first, second, third, fourth;
  EXPECT_EQ(runs(first), 7);
  EXPECT_EQ(first->hits(), 0);
  EXPECT_EQ(first->misses(), 1);
  const std::string key = only_pipeline_key(folder / "cache");
  EXPECT_EQ(runs(second), 7);
  EXPECT_EQ(second->hits(), 1);

  // Bytes of another device, or invalid ones, are replaced.
  auto own = second->get(key);
  ASSERT_TRUE(own);
  ASSERT_GE(own->size(), 32u);
  std::vector<std::byte> other = *own;
  other[16] ^= std::byte{1};  // of the cache id
  for (const std::vector<std::byte>& bytes : {other, std::vector<std::byte>(7)}) {
    second->put(key, bytes);
    EXPECT_EQ(runs(third), 7);
    auto kept = third->get(key);
    ASSERT_TRUE(kept);
    EXPECT_EQ(*kept, *own);
  }
}

int made_pipelines = 0;
PFN_vkCreateComputePipelines create_pipelines = nullptr;

TEST(VulkanPipelines, AreMadeAtTheFirstLaunch) {
  TAPML_VULKAN_OR_SKIP(context, device::VulkanContext::open({}));
  made_pipelines = 0;
  create_pipelines = context->vk.CreateComputePipelines;
  context->vk.CreateComputePipelines = [](VkDevice device, VkPipelineCache cache, uint32_t count,
                                          const VkComputePipelineCreateInfo* infos,
                                          const VkAllocationCallbacks* callbacks,
                                          VkPipeline* pipelines) {
    ++made_pipelines;
    return create_pipelines(device, cache, count, infos, callbacks, pipelines);
  };
  auto session = std::move(*runtime::LocalSession::create(device::make_vulkan_device(context)));
  ASSERT_TRUE(session->load_module(ModuleId{1}, glsl_module({kOne})));
  ASSERT_TRUE(session->get_kernel(KernelId{1}, ModuleId{1}, "one"));
  ASSERT_TRUE(session->get_kernel(KernelId{2}, ModuleId{1}, "one"));
  EXPECT_EQ(made_pipelines, 0);
  // The kernel keeps its resources alive.
  session->unload_module(ModuleId{1});
  ASSERT_TRUE(session->allocate(BufferId{1}, 64));
  BufferRange range{BufferId{1}, 0};
  for (const int64_t scalar : {7, 8}) {
    for (const KernelId kernel : {KernelId{1}, KernelId{2}}) {
      ASSERT_TRUE(session->launch(kDefaultStream,
                                  {kernel, std::span(&range, 1), std::span(&scalar, 1), 4, 1}));
    }
  }
  int32_t value = 0;
  ASSERT_TRUE(session->read(kDefaultStream, {BufferId{1}, 12},
                            std::as_writable_bytes(std::span(&value, 1))));
  EXPECT_EQ(value, 8);
  EXPECT_EQ(made_pipelines, 1);
}

}  // namespace
}  // namespace tapml::test
