#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "device/vulkan/vulkan_context.h"
#include "device/vulkan/vulkan_device.h"
#include "runtime/local_session.h"
#include "support/glsl_module.h"
#include "vulkan_or_skip.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::LaunchRequest;
using runtime::ModuleId;
using testing::append_spirv;
using testing::glsl_module;
using testing::GlslKernel;

// Runs under the validation layers if they are installed.
class VulkanDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device::VulkanOptions options;
    options.validation = true;
    options.on_message = [this](const std::string& message) { heard_.push_back(message); };
    auto opened = device::VulkanContext::open(options);
    if (!opened && opened.error().hint.find("validation") != std::string::npos) {
      opened = device::VulkanContext::open({});
    }
    TAPML_VULKAN_OR_SKIP(context, std::move(opened));
    context_ = context;
    device_ = device::make_vulkan_device(context);
    session_ = std::move(*runtime::LocalSession::create(device_));
  }

  // No test may cause a validation error or leak a Vulkan object.
  void TearDown() override {
    session_.reset();
    device_.reset();
    context_.reset();
    EXPECT_EQ(heard_, std::vector<std::string>());
  }

  // Loads a module with one kernel, under the ids 1.
  void load(const GlslKernel& kernel) {
    Status status = session_->load_module(ModuleId{1}, glsl_module({kernel}));
    ASSERT_TRUE(status) << status.error().to_string();
    status = session_->get_kernel(KernelId{1}, ModuleId{1}, kernel.name);
    ASSERT_TRUE(status) << status.error().to_string();
  }
  Status launch(std::vector<BufferRange> buffers, std::vector<int64_t> scalars, int64_t extent,
                int64_t threads = 64) {
    return session_->launch(kDefaultStream, {KernelId{1}, buffers, scalars, extent, threads});
  }
  template <class T>
  std::vector<T> read(BufferRange from, size_t count) {
    std::vector<T> values(count);
    Status status = session_->read(kDefaultStream, from, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(status) << status.error().to_string();
    return values;
  }
  // The error of the launch, as the next wait reports it.
  Error launch_error(std::vector<BufferRange> buffers, std::vector<int64_t> scalars, int64_t extent,
                     int64_t threads = 64) {
    EXPECT_TRUE(launch(std::move(buffers), std::move(scalars), extent, threads));
    Status status = session_->synchronize(kDefaultStream);
    EXPECT_FALSE(status);
    return status ? Error{} : status.error();
  }

  std::vector<std::string> heard_;
  std::shared_ptr<device::VulkanContext> context_;
  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::LocalSession> session_;
};

TEST_F(VulkanDeviceTest, DescribesTheDevice) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.platform, "vulkan");
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.version.rfind("Vulkan 1.", 0), 0u) << info.version;
  EXPECT_GE(info.limits.max_workgroup_threads, 128);
  EXPECT_GE(info.limits.max_local_memory, 16384);
  EXPECT_GE(info.limits.max_binding_bytes, 1 << 27);
  EXPECT_GE(info.limits.max_allocation_bytes, info.limits.max_binding_bytes);
  EXPECT_GE(info.limits.max_bindings, 4);
  EXPECT_NE(info.kind, DeviceKind::kUnknown);
  if (info.name.starts_with("llvmpipe")) {
    EXPECT_EQ(info.kind, DeviceKind::kProcessor);
    EXPECT_TRUE(info.limits.subgroup_width == 4 || info.limits.subgroup_width == 8)
        << info.limits.subgroup_width;
  }
  EXPECT_GE(info.limits.buffer_alignment, 16);
  EXPECT_LE(info.limits.buffer_alignment, 256);
  EXPECT_TRUE(info.features.compute_dtypes.contains(DType::kF32));
  EXPECT_TRUE(info.features.storage_dtypes.contains(DType::kBF16));
  EXPECT_FALSE(info.features.compute_dtypes.contains(DType::kBF16));
  auto all = device::list_vulkan_devices();
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->empty());
}

TEST_F(VulkanDeviceTest, AnUnknownDevice) {
  auto missing = device::create_vulkan_device({.device = 1000});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, PlatformFault::kAbsent);
  EXPECT_NE(missing.error().message.find("1000"), std::string::npos);
}

TEST(VulkanLoader, ReportsThatItIsAbsent) {
  for (const Error& answer :
       {device::create_vulkan_device({.loader = "libno-such-vulkan.so.1"}).error(),
        device::list_vulkan_devices({.loader = "libm.so.6"}).error()}) {
    EXPECT_EQ(answer.fault, PlatformFault::kAbsent) << answer.to_string();
    EXPECT_NE(answer.hint.find("mesa-vulkan-drivers"), std::string::npos);
  }
}

TEST(VulkanLoader, WithoutADriver) {
  if (!device::create_vulkan_device()) GTEST_SKIP() << "Vulkan is unavailable";
  setenv("VK_ICD_FILENAMES", "/no/such/driver.json", 1);
  auto device = device::create_vulkan_device();
  unsetenv("VK_ICD_FILENAMES");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().fault, PlatformFault::kAbsent);
  EXPECT_EQ(device.error().message, "there is no Vulkan 1.2 driver on this machine");
  EXPECT_NE(device.error().hint.find("mesa-vulkan-drivers"), std::string::npos);
}

TEST(VulkanSpirv, RefusesInvalidModules) {
  const ModuleBlob good = glsl_module({kOne});
  auto refused = [&](const ModuleBlob& blob) -> std::string {
    auto module = device::read_spirv_module(blob);
    if (module) return "";
    EXPECT_EQ(module.error().kind, ErrorKind::kInternal) << module.error().to_string();
    return module.error().message;
  };
  // Every prefix, in steps that hit headers, ends of words and instructions.
  for (size_t size = 0; size < good.bytes.size(); size += size < 64 ? 1 : 13) {
    ModuleBlob cut = good;
    cut.bytes.resize(size);
    EXPECT_NE(refused(cut), "") << size;
  }
  ModuleBlob longer = good;
  longer.bytes.resize(good.bytes.size() + 4);
  EXPECT_EQ(refused(longer), "the SPIR-V module goes on for 4 bytes after its last kernel");

  const std::vector<uint32_t> code =
      codegen::compile_glsl_to_spirv(testing::glsl_text(kOne), "one");
  auto with = [&](uint32_t buffers, uint32_t push, const std::vector<uint32_t>& words) {
    ModuleBlob blob;
    blob.platform = "vulkan";
    blob.format = "spirv";
    append_spirv(blob, "one", buffers, push, words);
    return refused(blob);
  };
  EXPECT_EQ(with(1, 8, code), "");
  EXPECT_EQ(with(0, 8, code), "kernel one has binding 0 and 0 buffers");
  EXPECT_EQ(with(1, 6, code), "kernel one has 6 bytes of push constants");
  std::vector<uint32_t> words = code;
  words[0] = 0x03022307;
  EXPECT_EQ(with(1, 8, words),
            "the SPIR-V of kernel one does not begin with SPIR-V's magic number");
  words = code;
  words.pop_back();
  EXPECT_EQ(with(1, 8, words), "the SPIR-V of kernel one ends inside of a function");
  words = code;
  words[5] = 7u << 16 | (words[5] & 0xffff);
  words.resize(10);
  EXPECT_EQ(with(1, 8, words), "the SPIR-V of kernel one is broken at word 5");
  words = {code.begin(), code.begin() + 5};
  EXPECT_EQ(with(1, 8, words), "the SPIR-V of kernel one has 0 entry points");
  // A huge number of words is a truncated module, not an allocation.
  ModuleBlob huge = good;
  for (size_t i = 0; i < 4; ++i) huge.bytes[i] = std::byte{0xff};
  EXPECT_EQ(refused(huge), "the SPIR-V module ends inside of kernel one");
}

TEST_F(VulkanDeviceTest, ModulesThatDoNotLoad) {
  const ModuleBlob good = glsl_module({kOne});
  auto refused = [&](const ModuleBlob& blob) -> std::string {
    auto module = device_->load(blob);
    EXPECT_FALSE(module);
    return module ? "" : module.error().message;
  };
  ModuleBlob other = good;
  other.platform = "opencl";
  EXPECT_EQ(refused(other), "a module of format spirv for opencl is loaded on vulkan");
  ModuleBlob cut = good;
  cut.bytes.pop_back();
  EXPECT_EQ(refused(cut), "the SPIR-V module ends inside of kernel one");
  ModuleBlob twice = good;
  twice.bytes.insert(twice.bytes.end(), good.bytes.begin(), good.bytes.end());
  twice.entries = {"one", "one"};
  EXPECT_EQ(refused(twice), "the SPIR-V module has two kernels one");
  auto module = device_->load(good);
  ASSERT_TRUE(module);
  EXPECT_EQ((*module)->kernel("two").error().message, "the module has no entry two");
  EXPECT_EQ(*device_->load(good), *module) << "the same module is loaded once";
}

TEST_F(VulkanDeviceTest, KernelsBeyondTheLimits) {
  auto error_in = [&](const ModuleBlob& blob) {
    auto module = device_->load(blob);
    EXPECT_TRUE(module) << module.error().to_string();
    auto made = (*module)->kernel(blob.entries[0]);
    EXPECT_FALSE(made);
    return made ? Error{} : made.error();
  };
  auto error_of = [&](const GlslKernel& kernel) { return error_in(glsl_module({kernel})); };
  // The GLSL compiler rejects it, so the size is changed in the SPIR-V words, where it follows
  // "local size" (17) in the instruction of six words and number 16.
  std::vector<uint32_t> wide = codegen::compile_glsl_to_spirv(testing::glsl_text(kOne), "one");
  size_t at = 5;
  while (wide[at] != (6u << 16 | 16u)) at += wide[at] >> 16;
  ASSERT_EQ(wide[at + 2], 17u);
  ASSERT_EQ(wide[at + 3], 64u);
  wide[at + 4] = static_cast<uint32_t>(device_->info().limits.max_workgroup_threads) / 32;
  ModuleBlob blob;
  blob.platform = "vulkan";
  blob.format = "spirv";
  append_spirv(blob, "one", 1, 8, wide);
  EXPECT_EQ(error_in(blob).fault, PlatformFault::kLimit);
  GlslKernel many = {"many", {"int"}, 1, "b0[i] = s0;"};
  many.scalars = static_cast<int>(context_->physical().properties.limits.maxPushConstantsSize) / 4;
  EXPECT_EQ(error_of(many).fault, PlatformFault::kLimit);

  // As on a device without doubles.
  GlslKernel wide_floats = {"wide", {"double"}, 1, "b0[i] = double(s0);"};
  context_->capabilities.erase(static_cast<uint32_t>(device::SpirvCapability::kFloat64));
  Error error = error_of(wide_floats);
  EXPECT_EQ(error.fault, PlatformFault::kLimit);
  EXPECT_EQ(error.message, "kernel wide needs SPIR-V capability 10, which this device lacks");
}

TEST_F(VulkanDeviceTest, WideAndNarrowTypes) {
  const Features& features = device_->info().features;
  if (!features.compute_dtypes.contains(DType::kF64) || !features.narrow_stores ||
      !features.compute_dtypes.contains(DType::kI64)) {
    GTEST_SKIP() << "this device has no doubles, 64-bit integers or narrow stores";
  }
  std::string text =
      "#version 450\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
      "#extension GL_EXT_shader_8bit_storage : require\n"
      "#extension GL_EXT_shader_16bit_storage : require\n"
      "layout(local_size_x = 64) in;\n"
      "layout(push_constant) uniform Scalars { int extent; };\n"
      "layout(std430, binding = 0) buffer B0 { double b0[]; };\n"
      "layout(std430, binding = 1) buffer B1 { int64_t b1[]; };\n"
      "layout(std430, binding = 2) buffer B2 { int8_t b2[]; };\n"
      "layout(std430, binding = 3) buffer B3 { uint16_t b3[]; };\n"
      "void main() { uint i = gl_GlobalInvocationID.x; if (i >= uint(extent)) return;\n"
      "  b0[i] = double(i) / 3.0lf; b1[i] = (int64_t(1) << 40) + int64_t(i);\n"
      "  b2[i] = int8_t(-int(i)); b3[i] = uint16_t(65535u - i); }\n";
  ModuleBlob blob;
  blob.platform = "vulkan";
  blob.format = "spirv";
  append_spirv(blob, "wide", 4, 4, codegen::compile_glsl_to_spirv(text, "wide"));
  ASSERT_TRUE(session_->load_module(ModuleId{1}, blob));
  Status got = session_->get_kernel(KernelId{1}, ModuleId{1}, "wide");
  ASSERT_TRUE(got) << got.error().to_string();
  std::vector<BufferRange> ranges;
  for (uint64_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(session_->allocate(BufferId{i}, 5 * 8));
    ranges.push_back({BufferId{i}, 0});
  }
  ASSERT_TRUE(launch(ranges, {}, 5));
  for (int64_t i = 0; i < 5; ++i) {
    size_t at = static_cast<size_t>(i);
    EXPECT_EQ(read<double>(ranges[0], 5)[at], static_cast<double>(i) / 3.0);
    EXPECT_EQ(read<int64_t>(ranges[1], 5)[at], (int64_t{1} << 40) + i);
    EXPECT_EQ(read<int8_t>(ranges[2], 5)[at], -i);
    EXPECT_EQ(read<uint16_t>(ranges[3], 5)[at], 65535 - i);
  }
}

TEST_F(VulkanDeviceTest, LaunchesThatDoNotFitSurfaceAtTheWait) {
  load(kOne);
  ASSERT_TRUE(session_->allocate(BufferId{1}, 64));
  BufferRange range{BufferId{1}, 0};
  EXPECT_EQ(launch_error({range}, {}, 4).message,
            "kernel one declares 1 buffers and 1 scalars for 1 buffers and 0 scalars");
  EXPECT_EQ(launch_error({range, range}, {5}, 4).kind, ErrorKind::kInternal);
  EXPECT_EQ(launch_error({range}, {5}, 4, int64_t{1} << 30).fault, PlatformFault::kLimit);
  EXPECT_EQ(launch_error({range}, {int64_t{1} << 31}, 4).message,
            "scalar 0 of kernel one is 2147483648; kernels on vulkan support only 32-bit integers");
  EXPECT_EQ(launch_error({range}, {5}, int64_t{1} << 31).fault, PlatformFault::kLimit);
  Error error = launch_error({{BufferId{1}, 4}}, {5}, 4);
  EXPECT_EQ(error.fault, PlatformFault::kLimit);
  EXPECT_EQ(error.message.rfind("buffer argument 0 of kernel one begins at byte 4;", 0), 0u)
      << error.message;

  ASSERT_TRUE(launch({range}, {INT32_MIN}, 4));
  EXPECT_EQ(read<int32_t>(range, 4), std::vector<int32_t>(4, INT32_MIN));
}

// Commands before a refused one still run; the refused one and later ones do not.
TEST_F(VulkanDeviceTest, WorkBeforeAnErrorIsDone) {
  load(kOne);
  ASSERT_TRUE(session_->allocate(BufferId{1}, 64));
  BufferRange range{BufferId{1}, 0};
  ASSERT_TRUE(launch({range}, {5}, 4));
  ASSERT_TRUE(launch({range}, {int64_t{1} << 40}, 4));
  ASSERT_TRUE(launch({range}, {6}, 4));
  EXPECT_FALSE(session_->synchronize(kDefaultStream));
  EXPECT_EQ(read<int32_t>(range, 4), std::vector<int32_t>(4, 5));
}

TEST_F(VulkanDeviceTest, MemoryThatIsReleasedStaysUntilItsWorkIsDone) {
  load({"count", {"uint"}, 1, "for (int k = 0; k < s0; ++k) b0[i] = b0[i] * 3u + 1u;"});
  std::vector<uint32_t> zeros(1 << 16, 0u);
  for (int round = 0; round < 8; ++round) {
    BufferId id{session_->new_handle()}, copy{session_->new_handle()};
    ASSERT_TRUE(session_->allocate(id, 1 << 18));
    ASSERT_TRUE(session_->allocate(copy, 1 << 18));
    ASSERT_TRUE(session_->write(kDefaultStream, {id, 0}, std::as_bytes(std::span(zeros))));
    ASSERT_TRUE(launch({{id, 0}}, {100}, 1 << 16));
    ASSERT_TRUE(session_->copy(kDefaultStream, {id, 0}, {copy, 0}, 1 << 18));
    session_->release(id);
    // The next allocation does not reuse bytes that are still in use.
    BufferId next{session_->new_handle()};
    ASSERT_TRUE(session_->allocate(next, 1 << 18));
    ASSERT_NE(session_->host_address(next), nullptr);
    std::memset(session_->host_address(next), 0xff, 1 << 18);
    uint32_t expected = 0;
    for (int k = 0; k < 100; ++k) expected = expected * 3u + 1u;
    EXPECT_EQ(read<uint32_t>({copy, 0}, 1 << 16), std::vector<uint32_t>(1 << 16, expected));
    session_->release(copy);
    session_->release(next);
  }
}

// A binding ends at the device's limit, not at the end of the buffer.
TEST_F(VulkanDeviceTest, BuffersLargerThanABinding) {
  const int64_t most = device_->info().limits.max_binding_bytes;
  if (most > 256 << 20) GTEST_SKIP() << "bindings reach " << most << " bytes";
  load(kOne);
  ASSERT_TRUE(session_->allocate(BufferId{1}, most + 4096));
  ASSERT_TRUE(session_->fill_zero(kDefaultStream, {BufferId{1}, 0}, most + 4096));
  ASSERT_TRUE(launch({{BufferId{1}, 0}}, {5}, 4));
  ASSERT_TRUE(launch({{BufferId{1}, 4096}}, {6}, most / 4));
  EXPECT_EQ(read<int32_t>({BufferId{1}, 12}, 2), (std::vector<int32_t>{5, 0}));
  EXPECT_EQ(read<int32_t>({BufferId{1}, 4092}, 2), (std::vector<int32_t>{0, 6}));
  EXPECT_EQ(read<int32_t>({BufferId{1}, most + 4092}, 1), (std::vector<int32_t>{6}));
}

TEST_F(VulkanDeviceTest, AnEmptyTensorAtTheEndOfABuffer) {
  load({"pair", {"int", "int"}, 1, "if (s0 != 0) b1[i] = s0; else b0[i] = 7;"});
  ASSERT_TRUE(session_->allocate(BufferId{1}, 512));
  ASSERT_TRUE(session_->fill_zero(kDefaultStream, {BufferId{1}, 0}, 512));
  ASSERT_TRUE(launch({{BufferId{1}, 0}, {BufferId{1}, 512}}, {0}, 2));
  EXPECT_EQ(read<int32_t>({BufferId{1}, 0}, 3), (std::vector<int32_t>{7, 7, 0}));
  // The last aligned offset in the buffer.
  const int64_t last = 512 - device_->info().limits.buffer_alignment;
  ASSERT_TRUE(launch({{BufferId{1}, 0}, {BufferId{1}, last}}, {9}, 2));
  EXPECT_EQ(read<int32_t>({BufferId{1}, last - 4}, 3), (std::vector<int32_t>{0, 9, 9}));
}

TEST_F(VulkanDeviceTest, SmallBuffersShareBlocks) {
  std::vector<std::shared_ptr<runtime::DeviceMemory>> buffers;
  for (int i = 0; i < 10000; ++i) {
    auto memory = device_->allocate(1 + i % 3000);
    ASSERT_TRUE(memory);
    buffers.push_back(*memory);
  }
  EXPECT_LE(context_->memory().blocks(), 2);
  // Released in any order, the parts are merged again.
  for (size_t i = 0; i < buffers.size(); i += 2) buffers[i].reset();
  for (size_t i = 1; i < buffers.size(); i += 2) buffers[i].reset();
  EXPECT_EQ(context_->memory().blocks(), 1);
  for (int64_t size :
       {device::VulkanHeap::kLargestShared, device::VulkanHeap::kLargestShared + 1}) {
    auto large = device_->allocate(size);
    ASSERT_TRUE(large);
    EXPECT_EQ((*large)->size(), size);
    EXPECT_EQ(context_->memory().blocks(), size > device::VulkanHeap::kLargestShared ? 2 : 1);
  }
  EXPECT_EQ(context_->memory().blocks(), 1);
}

VkResult no_memory(VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*,
                   VkDeviceMemory*) {
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

TEST_F(VulkanDeviceTest, OutOfMemoryIsTypedAndRecovers) {
  auto allocate = context_->vk.AllocateMemory;
  context_->vk.AllocateMemory = no_memory;
  Status status = session_->allocate(BufferId{1}, 64 << 20);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_NE(status.error().message.find("67108864"), std::string::npos);
  context_->vk.AllocateMemory = allocate;
  EXPECT_TRUE(session_->allocate(BufferId{1}, 64 << 20));
}

// A device with memory for one large buffer.
struct SmallDevice {
  static inline PFN_vkAllocateMemory allocate = nullptr;
  static inline PFN_vkFreeMemory free = nullptr;
  static inline VkDeviceMemory large = VK_NULL_HANDLE;
  static VkResult allocate_one(VkDevice device, const VkMemoryAllocateInfo* info,
                               const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
    bool is_large = info->allocationSize > (32 << 20);
    if (is_large && large != VK_NULL_HANDLE) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkResult result = allocate(device, info, callbacks, memory);
    if (is_large) large = *memory;
    return result;
  }
  static void free_one(VkDevice device, VkDeviceMemory memory,
                       const VkAllocationCallbacks* callbacks) {
    if (memory == large) large = VK_NULL_HANDLE;
    free(device, memory, callbacks);
  }
};

TEST_F(VulkanDeviceTest, MemoryThatWorkHoldsIsWaitedFor) {
  constexpr int64_t kLarge = 48 << 20;
  load(kOne);
  SmallDevice::allocate = context_->vk.AllocateMemory;
  SmallDevice::free = context_->vk.FreeMemory;
  context_->vk.AllocateMemory = SmallDevice::allocate_one;
  context_->vk.FreeMemory = SmallDevice::free_one;
  ASSERT_TRUE(session_->allocate(BufferId{1}, kLarge));
  EXPECT_EQ(session_->allocate(BufferId{2}, kLarge).error().fault, PlatformFault::kOutOfMemory);
  for (uint64_t id = 1; id < 5; ++id) {
    ASSERT_TRUE(launch({{BufferId{id}, 0}}, {5}, kLarge / 4));
    session_->release(BufferId{id});
    Status status = session_->allocate(BufferId{id + 1}, kLarge);
    ASSERT_TRUE(status) << status.error().to_string();
  }
  session_->release(BufferId{5});
  EXPECT_TRUE(session_->synchronize(kDefaultStream));
  EXPECT_EQ(SmallDevice::large, VkDeviceMemory{VK_NULL_HANDLE});
}

int64_t semaphores_made = 0;
PFN_vkCreateSemaphore create_semaphore = nullptr;
VkResult counted_semaphore(VkDevice device, const VkSemaphoreCreateInfo* info,
                           const VkAllocationCallbacks* callbacks, VkSemaphore* semaphore) {
  ++semaphores_made;
  return create_semaphore(device, info, callbacks, semaphore);
}

// lavapipe uses a semaphore for a moment after the work that waited for it is done: none is
// destroyed.
TEST_F(VulkanDeviceTest, SemaphoresOfStreamsServeTheNextOnes) {
  load(kOne);
  create_semaphore = context_->vk.CreateSemaphore;
  context_->vk.CreateSemaphore = counted_semaphore;
  semaphores_made = 0;
  ASSERT_TRUE(session_->allocate(BufferId{1}, 64));
  for (uint64_t i = 0; i < 200; ++i) {
    const runtime::StreamId stream{1000 + i};
    const runtime::EventId event{5000 + i};
    ASSERT_TRUE(session_->create_stream(stream));
    ASSERT_TRUE(session_->fill_zero(stream, {BufferId{1}, 0}, 64));
    ASSERT_TRUE(session_->record(stream, event));
    ASSERT_TRUE(session_->wait_event(kDefaultStream, event));
    ASSERT_TRUE(launch({{BufferId{1}, 0}}, {5}, 4));
    ASSERT_TRUE(session_->synchronize(kDefaultStream));
    session_->destroy_stream(stream);
  }
  // An event keeps its stream's semaphore alive.
  EXPECT_LE(semaphores_made, 201);
  semaphores_made = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    const runtime::StreamId stream{9000 + i};
    ASSERT_TRUE(session_->create_stream(stream));
    ASSERT_TRUE(session_->fill_zero(stream, {BufferId{1}, 0}, 64));
    session_->destroy_stream(stream);
  }
  EXPECT_LE(semaphores_made, 1);
}

VkResult lost_device(VkQueue, uint32_t, const VkSubmitInfo*, VkFence) {
  return VK_ERROR_DEVICE_LOST;
}

TEST_F(VulkanDeviceTest, ALostDeviceStaysLost) {
  load(kOne);
  ASSERT_TRUE(session_->allocate(BufferId{1}, 64));
  auto submit = context_->vk.QueueSubmit;
  context_->vk.QueueSubmit = lost_device;
  EXPECT_EQ(launch_error({{BufferId{1}, 0}}, {5}, 4).fault, PlatformFault::kLost);
  context_->vk.QueueSubmit = submit;
  for (int i = 0; i < 2; ++i) {
    Status status = session_->synchronize(kDefaultStream);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().fault, PlatformFault::kLost);
  }
  EXPECT_EQ(session_->allocate(BufferId{2}, 64).error().fault, PlatformFault::kLost);
  EXPECT_EQ(runtime::LocalSession::create(device_).error().fault, PlatformFault::kLost);
  // Another device is not affected.
  auto fresh = device::create_vulkan_device();
  ASSERT_TRUE(fresh);
  auto session = runtime::LocalSession::create(*fresh);
  ASSERT_TRUE(session);
  EXPECT_TRUE((*session)->synchronize(kDefaultStream));
}

// The validation layers detect an error, so that their silence is meaningful.
TEST(VulkanValidation, ComplaintsAreErrors) {
  std::vector<std::string> heard;
  {
    device::VulkanOptions options;
    options.validation = true;
    options.on_message = [&](const std::string& message) { heard.push_back(message); };
    TAPML_VULKAN_OR_SKIP(context, device::VulkanContext::open(options));
    auto session = std::move(*runtime::LocalSession::create(device::make_vulkan_device(context)));
    ASSERT_TRUE(session->load_module(ModuleId{1}, glsl_module({kOne})));
    ASSERT_TRUE(session->get_kernel(KernelId{1}, ModuleId{1}, "one"));
    ASSERT_TRUE(session->allocate(BufferId{1}, 64));
    BufferRange range{BufferId{1}, 0};
    int64_t scalar = 7;
    LaunchRequest request{KernelId{1}, std::span(&range, 1), std::span(&scalar, 1), 4, 1};
    ASSERT_TRUE(session->launch(kDefaultStream, request));
    ASSERT_TRUE(session->synchronize(kDefaultStream));
    EXPECT_TRUE(heard.empty());

    // Two commands that write the same bytes, without a barrier between them.
    auto barrier = context->vk.CmdPipelineBarrier;
    context->vk.CmdPipelineBarrier = [](VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
                                        VkDependencyFlags, uint32_t, const VkMemoryBarrier*,
                                        uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                                        const VkImageMemoryBarrier*) {};
    ASSERT_TRUE(session->launch(kDefaultStream, request));
    ASSERT_TRUE(session->fill_zero(kDefaultStream, {BufferId{1}, 0}, 64));
    Status status = session->synchronize(kDefaultStream);
    context->vk.CmdPipelineBarrier = barrier;
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "the Vulkan validation layers report errors");
    EXPECT_NE(status.error().found.find("HAZARD"), std::string::npos) << status.error().found;
    EXPECT_FALSE(heard.empty());
    heard.clear();
  }
  // Nothing is left when the device is destroyed.
  EXPECT_EQ(heard, std::vector<std::string>());
}

}  // namespace
}  // namespace tapml::test
