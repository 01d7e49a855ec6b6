#include "device/vulkan/vulkan_context.h"

#include <algorithm>
#include <tuple>

#include "base/physical_memory.h"
#include "device/vulkan/vulkan_spirv.h"

namespace tapml::device {

namespace {

constexpr VkMemoryPropertyFlags kMappable =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// The first memory type among `allowed` with all of `needed` that satisfies most of `wishes`, which
// are in order of priority; -1 if there is none.
int find_memory_type(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                     VkMemoryPropertyFlags needed,
                     std::initializer_list<VkMemoryPropertyFlags> wishes) {
  int best = -1, best_rank = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags has = memory.memoryTypes[i].propertyFlags;
    if (!(allowed >> i & 1) || (has & needed) != needed) continue;
    int rank = 0;
    for (VkMemoryPropertyFlags wish : wishes) rank = 2 * rank + ((has & wish) == wish ? 1 : 0);
    if (rank > best_rank) {
      best_rank = rank;
      best = static_cast<int>(i);
    }
  }
  return best;
}

}  // namespace

bool VulkanContext::keeps_denormals() const {
  const bool alone = physical_.properties12.denormBehaviorIndependence !=
                     VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  return alone && capabilities.contains(static_cast<uint32_t>(SpirvCapability::kDenormPreserve));
}

Result<std::shared_ptr<VulkanContext>> VulkanContext::open(const VulkanOptions& options) {
  TAPML_ASSIGN(std::shared_ptr<VulkanInstance> instance, VulkanInstance::open(options));
  TAPML_ASSIGN(std::vector<VulkanPhysical> devices, find_vulkan_devices(*instance));
  if (devices.empty()) {
    return fail(no_vulkan("there is no Vulkan 1.2 device on this machine"));
  }
  if (options.device >= static_cast<int>(devices.size())) {
    return fail(platform_error(
        PlatformFault::kAbsent, "there is no Vulkan device " + std::to_string(options.device),
        "vulkan", "device=0 to device=" + std::to_string(devices.size() - 1) + ": tapml devices"));
  }
  std::shared_ptr<VulkanContext> context(new VulkanContext);
  context->instance_ = instance;
  context->vk = instance->functions();
  context->pipelines = options.pipelines;
  context->physical_ = options.device < 0 ? best_vulkan_device(devices)
                                          : devices[static_cast<size_t>(options.device)];
  context->info = describe_vulkan_device(context->physical_);
  context->capabilities = vulkan_capabilities(context->physical_);
  for (size_t i = 0; i < context->max_groups.size(); ++i) {
    context->max_groups[i] = context->physical_.properties.limits.maxComputeWorkGroupCount[i];
  }
  TAPML_TRY(context->create_device());
  TAPML_TRY(context->create_heaps(options.map_memory));
  TAPML_TRY(context->valid());
  return context;
}

Status VulkanContext::create_device() {
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = physical_.family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VulkanFeatures features(physical_);
  features.features11.pNext = &features.features12;
  if (physical_.properties.apiVersion >= VK_API_VERSION_1_3) {
    features.features12.pNext = &features.subgroup_control;
  }
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.features11;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.pEnabledFeatures = &features.features;
  TAPML_TRY(
      vulkan_status(vk.CreateDevice(physical_.device, &info, nullptr, &device_), "vkCreateDevice"));
  TAPML_TRY(vk.fetch(device_));
  vk.GetDeviceQueue(device_, physical_.family, 0, &queue_);
  return {};
}

Status VulkanContext::create_heaps(bool map_memory) {
  // The allowed types for such a buffer are the same for all sizes.
  VkBufferCreateInfo probe = vulkan_buffer_info(VulkanHeap::kAlignment);
  VkBuffer buffer = VK_NULL_HANDLE;
  TAPML_TRY(vulkan_status(vk.CreateBuffer(device_, &probe, nullptr, &buffer), "vkCreateBuffer"));
  VkMemoryRequirements needs{};
  vk.GetBufferMemoryRequirements(device_, buffer, &needs);
  vk.DestroyBuffer(device_, buffer, nullptr);

  const VkPhysicalDeviceMemoryProperties& memory = physical_.memory;
  // A software device's driver reports a smaller heap than the machine's memory, and its
  // allocations succeed even without memory.
  const int64_t most = physical_.is_processor() ? physical_memory() : 0;
  if (map_memory && physical_.is_unified()) {
    int type =
        find_memory_type(memory, needs.memoryTypeBits, kMappable,
                         {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, VK_MEMORY_PROPERTY_HOST_CACHED_BIT});
    if (type >= 0) {
      memory_ = std::make_unique<VulkanHeap>(vk, device_, static_cast<uint32_t>(type), true, most);
      return {};
    }
  }
  int local =
      find_memory_type(memory, needs.memoryTypeBits, 0, {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT});
  int host = find_memory_type(memory, needs.memoryTypeBits, kMappable,
                              {VK_MEMORY_PROPERTY_HOST_CACHED_BIT});
  if (local < 0 || host < 0) {
    return fail(internal_error("the Vulkan device has no memory for buffers", "vulkan"));
  }
  memory_ = std::make_unique<VulkanHeap>(vk, device_, static_cast<uint32_t>(local), false, most);
  staging_ = std::make_unique<VulkanHeap>(vk, device_, static_cast<uint32_t>(host), true, most);
  return {};
}

VulkanContext::~VulkanContext() {
  if (!device_) return;
  if (vk.DestroyDevice) {
    if (!semaphores_.empty()) std::ignore = vk.QueueWaitIdle(queue_);
    for (const KeptSemaphore& kept : semaphores_) {
      vk.DestroySemaphore(device_, kept.handle, nullptr);
    }
    for (auto& [signature, layout] : pipeline_layouts_) {
      vk.DestroyPipelineLayout(device_, layout, nullptr);
    }
    for (auto& [buffers, layout] : set_layouts_) {
      vk.DestroyDescriptorSetLayout(device_, layout, nullptr);
    }
    staging_.reset();
    memory_.reset();
    vk.DestroyDevice(device_, nullptr);
  }
}

void VulkanContext::keep_semaphore(KeptSemaphore semaphore) {
  std::lock_guard guard(lock_);
  semaphores_.push_back(semaphore);
}

std::optional<KeptSemaphore> VulkanContext::take_semaphore() {
  std::lock_guard guard(lock_);
  if (semaphores_.empty()) return std::nullopt;
  const KeptSemaphore kept = semaphores_.back();
  semaphores_.pop_back();
  return kept;
}

Result<VulkanLayout> VulkanContext::layout(uint32_t buffers, uint32_t push_bytes) {
  std::lock_guard guard(lock_);
  VkDescriptorSetLayout& set = set_layouts_[buffers];
  if (!set) {
    std::vector<VkDescriptorSetLayoutBinding> bindings(buffers);
    for (uint32_t i = 0; i < buffers; ++i) {
      bindings[i].binding = i;
      bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      bindings[i].descriptorCount = 1;
      bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = buffers;
    info.pBindings = bindings.data();
    TAPML_TRY(status(vk.CreateDescriptorSetLayout(device_, &info, nullptr, &set),
                     "vkCreateDescriptorSetLayout"));
  }
  VkPipelineLayout& pipeline = pipeline_layouts_[{buffers, push_bytes}];
  if (!pipeline) {
    VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = 1;
    info.pSetLayouts = &set;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &push;
    TAPML_TRY(status(vk.CreatePipelineLayout(device_, &info, nullptr, &pipeline),
                     "vkCreatePipelineLayout"));
  }
  return VulkanLayout{set, pipeline};
}

Result<std::shared_ptr<VulkanRange>> VulkanContext::allocate(int64_t bytes) {
  auto range = memory_->allocate(bytes);
  if (range || range.error().fault != PlatformFault::kOutOfMemory) return range;
  {
    std::lock_guard guard(working_);
    for (VulkanWork* work : works_) work->settle();
  }
  return memory_->allocate(bytes);
}

void VulkanContext::add_work(VulkanWork& work) {
  std::lock_guard guard(working_);
  works_.insert(&work);
}

void VulkanContext::remove_work(VulkanWork& work) {
  std::lock_guard guard(working_);
  works_.erase(&work);
}

Status VulkanContext::submit(const VkSubmitInfo& info) {
  std::lock_guard guard(submitting_);
  return status(vk.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
}

Status VulkanContext::status(VkResult code, const char* call) {
  if (code == VK_ERROR_DEVICE_LOST) lost_ = true;
  return vulkan_status(code, call);
}

Status VulkanContext::alive() const {
  if (!lost_) return {};
  return fail(platform_error(PlatformFault::kLost, "the Vulkan device is lost", "vulkan"));
}

}  // namespace tapml::device
