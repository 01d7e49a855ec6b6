// The connection to the Vulkan loader, with the validation layers' messages.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "device/vulkan/vulkan_device.h"
#include "device/vulkan/vulkan_functions.h"

namespace tapml::device {

// Collects messages of the validation layers. Thread-safe.
class VulkanMessages {
 public:
  explicit VulkanMessages(std::function<void(const std::string&)> listener)
      : listener_(std::move(listener)) {}
  void add(const std::string& message);
  // Fails with the messages since the last call.
  Status take();

 private:
  std::mutex lock_;
  std::vector<std::string> messages_;
  std::function<void(const std::string&)> listener_;
};

class VulkanInstance {
 public:
  static Result<std::shared_ptr<VulkanInstance>> open(const VulkanOptions& options);
  ~VulkanInstance();
  VulkanInstance(const VulkanInstance&) = delete;
  VulkanInstance& operator=(const VulkanInstance&) = delete;

  const VulkanFunctions& functions() const { return vk_; }
  Result<std::vector<VkPhysicalDevice>> devices() const;
  // Ok if there are no validation layers.
  Status take_messages() { return messages_ ? messages_->take() : Status(); }

 private:
  VulkanInstance() = default;
  Status listen();

  VulkanFunctions vk_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::unique_ptr<VulkanMessages> messages_;  // null: no validation
};

}  // namespace tapml::device
