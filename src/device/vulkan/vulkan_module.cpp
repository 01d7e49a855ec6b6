#include <algorithm>

#include "device/vulkan/vulkan_context.h"
#include "device/vulkan/vulkan_pipeline_cache.h"

namespace tapml::device {

namespace {

using runtime::DeviceKernel;
using runtime::DeviceModule;

// Of an entry, before its words: number of words, buffers, bytes of push constants.
constexpr size_t kEntryHeaderBytes = 12;

struct VulkanEntry {
  std::vector<uint32_t> words;
  SpirvFacts facts;
  uint32_t buffers = 0;
  uint32_t push_bytes = 0;
  std::shared_ptr<VulkanKernel> kernel;  // null: not made yet
};

uint32_t read_word(std::span<const std::byte> bytes, size_t offset) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= std::to_integer<uint32_t>(bytes[offset + i]) << (8 * i);
  }
  return value;
}

// The next entry of a module's bytes, which are then behind it.
Result<VulkanEntry> read_entry(const std::string& name, std::span<const std::byte>& bytes) {
  auto truncated = [&] {
    return fail(internal_error("the SPIR-V module ends inside of kernel " + name, "vulkan"));
  };
  if (bytes.size() < kEntryHeaderBytes) return truncated();
  const size_t words = read_word(bytes, 0);
  VulkanEntry entry;
  entry.buffers = read_word(bytes, 4);
  entry.push_bytes = read_word(bytes, 8);
  bytes = bytes.subspan(kEntryHeaderBytes);
  if (words > bytes.size() / 4) return truncated();
  entry.words.resize(words);
  for (size_t i = 0; i < words; ++i) entry.words[i] = read_word(bytes, 4 * i);
  bytes = bytes.subspan(4 * words);
  TAPML_ASSIGN(entry.facts, read_spirv(entry.words, name));
  if (entry.facts.bindings > entry.buffers) {
    return fail(internal_error("kernel " + name + " has binding " +
                                   std::to_string(entry.facts.bindings - 1) + " and " +
                                   std::to_string(entry.buffers) + " buffers",
                               "vulkan"));
  }
  if (entry.push_bytes < 4 || entry.push_bytes % 4 != 0) {
    return fail(internal_error(
        "kernel " + name + " has " + std::to_string(entry.push_bytes) + " bytes of push constants",
        "vulkan"));
  }
  return entry;
}

class VulkanModule final : public DeviceModule {
 public:
  VulkanModule(std::shared_ptr<VulkanContext> context, std::map<std::string, VulkanEntry> entries,
               std::unique_ptr<VulkanPipelineCache> cache)
      : context_(std::move(context)), entries_(std::move(entries)), cache_(std::move(cache)) {}

  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& name) noexcept override {
    std::lock_guard guard(lock_);
    auto found = entries_.find(name);
    if (found == entries_.end()) {
      return fail(internal_error("the module has no entry " + name, "vulkan"));
    }
    VulkanEntry& entry = found->second;
    if (!entry.kernel) {
      TAPML_TRY(context_->alive());
      TAPML_TRY(check_limits(name, entry));
      TAPML_ASSIGN(std::shared_ptr<VulkanPipeline> pipeline, make_pipeline(entry));
      TAPML_TRY(context_->valid());
      entry.kernel = std::make_shared<VulkanKernel>(name, std::move(pipeline));
      entry.words = {};
      cache_->grown();
    }
    return entry.kernel;
  }

 private:
  // Drivers do not check these.
  Status check_limits(const std::string& name, const VulkanEntry& entry) const {
    auto refuse = [&](const std::string& what, int64_t asked, int64_t most) -> Status {
      if (asked <= most) return {};
      return fail(platform_error(PlatformFault::kLimit,
                                 "kernel " + name + " needs " + std::to_string(asked) + " " + what +
                                     "; this device allows " + std::to_string(most),
                                 "vulkan"));
    };
    const Limits& limits = context_->info.limits;
    const VkPhysicalDeviceLimits& says = context_->physical().properties.limits;
    TAPML_TRY(refuse("buffers", entry.buffers, limits.max_bindings));
    TAPML_TRY(refuse("bytes of push constants", entry.push_bytes, says.maxPushConstantsSize));
    int64_t threads = 1;
    for (int i = 0; i < 3; ++i) {
      TAPML_TRY(refuse("threads in a dimension of a work group", entry.facts.group[i],
                       says.maxComputeWorkGroupSize[i]));
      threads *= std::max<int64_t>(1, entry.facts.group[i]);
      TAPML_TRY(refuse("threads in a work group", threads, says.maxComputeWorkGroupInvocations));
    }
    for (uint32_t capability : entry.facts.capabilities) {
      if (context_->capabilities.contains(capability)) continue;
      return fail(platform_error(PlatformFault::kLimit,
                                 "kernel " + name + " needs SPIR-V's capability " +
                                     std::to_string(capability) + ", which this device lacks",
                                 "vulkan"));
    }
    return {};
  }

  Result<std::shared_ptr<VulkanPipeline>> make_pipeline(const VulkanEntry& entry) {
    const VulkanFunctions& vk = context_->vk;
    TAPML_ASSIGN(VulkanLayout layout, context_->layout(entry.buffers, entry.push_bytes));
    auto made = std::make_shared<VulkanPipeline>(context_, layout);
    made->buffers = entry.buffers;
    made->push_bytes = entry.push_bytes;
    VkShaderModuleCreateInfo code{};
    code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    code.codeSize = 4 * entry.words.size();
    code.pCode = entry.words.data();
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = "main";
    info.layout = layout.pipeline;
    TAPML_TRY(context_->status(
        vk.CreateShaderModule(context_->handle(), &code, nullptr, &info.stage.module),
        "vkCreateShaderModule"));
    VkResult result = vk.CreateComputePipelines(context_->handle(), cache_->handle(), 1, &info,
                                                nullptr, &made->pipeline);
    vk.DestroyShaderModule(context_->handle(), info.stage.module, nullptr);
    TAPML_TRY(context_->status(result, "vkCreateComputePipelines"));
    return made;
  }

  std::shared_ptr<VulkanContext> context_;
  std::mutex lock_;
  std::map<std::string, VulkanEntry> entries_;
  std::unique_ptr<VulkanPipelineCache> cache_;
};

}  // namespace

Result<std::shared_ptr<DeviceModule>> load_vulkan_module(std::shared_ptr<VulkanContext> context,
                                                         const ModuleBlob& blob) {
  std::map<std::string, VulkanEntry> entries;
  std::span<const std::byte> bytes(blob.bytes);
  for (const std::string& name : blob.entries) {
    TAPML_ASSIGN(VulkanEntry entry, read_entry(name, bytes));
    if (!entries.emplace(name, std::move(entry)).second) {
      return fail(internal_error("the SPIR-V module has two kernels " + name, "vulkan"));
    }
  }
  if (!bytes.empty()) {
    return fail(internal_error("the SPIR-V module goes on for " + std::to_string(bytes.size()) +
                                   " bytes after its last kernel",
                               "vulkan"));
  }
  TAPML_ASSIGN(std::unique_ptr<VulkanPipelineCache> cache,
               VulkanPipelineCache::open(context, blob.bytes));
  return std::make_shared<VulkanModule>(std::move(context), std::move(entries), std::move(cache));
}

}  // namespace tapml::device
