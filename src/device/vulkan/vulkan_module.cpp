#include "device/vulkan/vulkan_kernel.h"

namespace tapml::device {

namespace {

using runtime::DeviceKernel;
using runtime::DeviceModule;

struct VulkanEntry {
  SpirvKernel code;
  std::shared_ptr<VulkanKernel> kernel;  // null: not requested yet
};

class VulkanModule final : public DeviceModule {
 public:
  VulkanModule(std::shared_ptr<VulkanContext> context, std::map<std::string, VulkanEntry> entries,
               std::shared_ptr<VulkanPipelineCache> cache)
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
      TAPML_ASSIGN(entry.kernel, VulkanKernel::create(context_, cache_, entry.code));
      entry.code.words = {};
    }
    return entry.kernel;
  }

 private:
  std::shared_ptr<VulkanContext> context_;
  std::mutex lock_;
  std::map<std::string, VulkanEntry> entries_;
  const std::shared_ptr<VulkanPipelineCache> cache_;
};

}  // namespace

Result<std::shared_ptr<DeviceModule>> load_vulkan_module(std::shared_ptr<VulkanContext> context,
                                                         const ModuleBlob& blob) {
  TAPML_ASSIGN(std::vector<SpirvKernel> kernels, read_spirv_module(blob));
  std::map<std::string, VulkanEntry> entries;
  for (SpirvKernel& kernel : kernels) {
    std::string name = kernel.name;
    if (!entries.emplace(name, VulkanEntry{std::move(kernel), nullptr}).second) {
      return fail(internal_error("the SPIR-V module has two kernels " + name, "vulkan"));
    }
  }
  TAPML_ASSIGN(std::unique_ptr<VulkanPipelineCache> cache,
               VulkanPipelineCache::open(context, blob.bytes));
  return std::make_shared<VulkanModule>(std::move(context), std::move(entries), std::move(cache));
}

}  // namespace tapml::device
