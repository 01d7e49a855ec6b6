#include "device/vulkan/vulkan_pipeline_cache.h"

#include <cstring>

#include "base/hash.h"

namespace tapml::device {

namespace {

// Part of a stored cache's key, next to the driver's versions.
constexpr const char* kPipelineKeyVersion = "vulkan-pipelines-1";

// Drivers should reject foreign data; not all do.
bool is_own_cache(std::span<const std::byte> bytes, const VkPhysicalDeviceProperties& device) {
  VkPipelineCacheHeaderVersionOne header{};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.headerSize == sizeof header &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == device.vendorID && header.deviceID == device.deviceID &&
         std::memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace

Result<std::unique_ptr<VulkanPipelineCache>> VulkanPipelineCache::open(
    const std::shared_ptr<VulkanContext>& context, std::span<const std::byte> module) {
  std::unique_ptr<VulkanPipelineCache> opened(new VulkanPipelineCache(context));
  if (context->pipelines) {
    Sha256 hash;
    hash.update(std::string(kPipelineKeyVersion) + "\n" +
                vulkan_build_identity(context->physical()) + "\n");
    hash.update(module);
    opened->key_ = to_hex(hash.digest());
    auto bytes = context->pipelines->get(opened->key_);
    if (bytes && is_own_cache(*bytes, context->physical().properties)) {
      opened->kept_ = std::move(*bytes);
    }
  }
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = opened->kept_.size();
  info.pInitialData = opened->kept_.data();
  TAPML_TRY(context->status(
      context->vk.CreatePipelineCache(context->handle(), &info, nullptr, &opened->cache_),
      "vkCreatePipelineCache"));
  return opened;
}

VulkanPipelineCache::~VulkanPipelineCache() {
  if (!cache_) return;
  if (made_ > saved_) keep();
  context_->vk.DestroyPipelineCache(context_->handle(), cache_, nullptr);
}

void VulkanPipelineCache::grown() {
  std::lock_guard guard(lock_);
  if (++made_ >= 2 * saved_) keep();
}

void VulkanPipelineCache::keep() {
  saved_ = made_;
  if (key_.empty()) return;
  size_t size = 0;
  const VulkanFunctions& vk = context_->vk;
  if (vk.GetPipelineCacheData(context_->handle(), cache_, &size, nullptr) != VK_SUCCESS) return;
  std::vector<std::byte> bytes(size);
  if (size == 0 ||
      vk.GetPipelineCacheData(context_->handle(), cache_, &size, bytes.data()) != VK_SUCCESS) {
    return;
  }
  bytes.resize(size);
  if (bytes == kept_) return;
  context_->pipelines->put(key_, bytes);
  kept_ = std::move(bytes);
}

}  // namespace tapml::device
