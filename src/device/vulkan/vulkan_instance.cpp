#include "device/vulkan/vulkan_instance.h"

namespace tapml::device {

namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
// Messages to keep; one mistake can cause many.
constexpr size_t kMostVulkanMessages = 8;

VKAPI_ATTR VkBool32 VKAPI_CALL on_vulkan_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                 VkDebugUtilsMessageTypeFlagsEXT,
                                                 const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                 void* messages) {
  static_cast<VulkanMessages*>(messages)->add(data->pMessage ? data->pMessage : "");
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(VulkanMessages* messages) {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_vulkan_message;
  info.pUserData = messages;
  return info;
}

}  // namespace

void VulkanMessages::add(const std::string& message) {
  std::lock_guard guard(lock_);
  if (messages_.size() < kMostVulkanMessages) messages_.push_back(message);
  if (listener_) listener_(message);
}

Status VulkanMessages::take() {
  std::lock_guard guard(lock_);
  if (messages_.empty()) return {};
  Error error = internal_error("the Vulkan validation layers report errors", "vulkan");
  for (const std::string& message : messages_) {
    error.found += (error.found.empty() ? "" : "\n") + message;
  }
  messages_.clear();
  return fail(std::move(error));
}

Result<std::shared_ptr<VulkanInstance>> VulkanInstance::open(const VulkanOptions& options) {
  std::shared_ptr<VulkanInstance> opened(new VulkanInstance);
  TAPML_ASSIGN(opened->vk_, VulkanFunctions::open(options.loader));
  if (options.validation) opened->messages_ = std::make_unique<VulkanMessages>(options.on_message);

  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "tapml";
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  // Errors during creation need a separate listener.
  VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(opened->messages_.get());
  const VkValidationFeatureEnableEXT checks[] = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkValidationFeaturesEXT validation{};
  validation.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  validation.pNext = &messenger;
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = checks;
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  if (options.validation) {
    info.pNext = &validation;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = extensions;
  }
  VkResult code = opened->vk_.CreateInstance(&info, nullptr, &opened->instance_);
  if (code == VK_ERROR_LAYER_NOT_PRESENT) {
    return fail(platform_error(PlatformFault::kAbsent,
                               "the Vulkan validation layers are not installed", "vulkan",
                               "install the package vulkan-validationlayers"));
  }
  if (code == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return fail(no_vulkan("there is no Vulkan 1.2 driver on this machine"));
  }
  TAPML_TRY(vulkan_status(code, "vkCreateInstance"));
  TAPML_TRY(opened->vk_.fetch(opened->instance_));
  if (opened->messages_) TAPML_TRY(opened->listen());
  return opened;
}

Status VulkanInstance::listen() {
  VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(messages_.get());
  return vulkan_status(vk_.CreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_),
                       "vkCreateDebugUtilsMessengerEXT");
}

VulkanInstance::~VulkanInstance() {
  if (messenger_) vk_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (instance_ && vk_.DestroyInstance) vk_.DestroyInstance(instance_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> VulkanInstance::devices() const {
  uint32_t count = 0;
  TAPML_TRY(vulkan_status(vk_.EnumeratePhysicalDevices(instance_, &count, nullptr),
                          "vkEnumeratePhysicalDevices"));
  std::vector<VkPhysicalDevice> devices(count);
  TAPML_TRY(vulkan_status(vk_.EnumeratePhysicalDevices(instance_, &count, devices.data()),
                          "vkEnumeratePhysicalDevices"));
  devices.resize(count);
  return devices;
}

}  // namespace tapml::device
