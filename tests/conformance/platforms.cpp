#include "conformance/platforms.h"

#include <array>
#include <deque>
#include <map>
#include <string_view>

#include "conformance/generated_kernels.h"
#include "conformance/native_kernels.h"
#include "device/cpu/cpu_device.h"
#include "device/null/null_device.h"
#include "device/opencl/opencl_device.h"
#include "device/vulkan/vulkan_context.h"
#include "device/vulkan/vulkan_device.h"
#include "device/watched/watched_device.h"
#include "support/browser_session.h"
#include "support/glsl_module.h"
#include "support/remote_target.h"
#include "support/wasm_session.h"
#include "support/wgsl_module.h"

namespace tapml::test {

namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::Device;
using runtime::KernelId;
using runtime::LaunchRequest;
using runtime::LocalSession;
using runtime::ModuleId;
using runtime::Session;
using runtime::StreamId;

// The kernels of native_kernels.h in OpenCL C.
constexpr std::string_view kOpenClSource = R"(
#define FLOATS(b, o) ((__global float*)((__global char*)(b) + (o)))
#define INTS(b, o) ((__global int*)((__global char*)(b) + (o)))
#define UINTS(b, o) ((__global uint*)((__global char*)(b) + (o)))
#define FOR_EACH(i) for (long i = get_global_id(0); i < extent; i += get_global_size(0))

__kernel void add(__global void* a, __global void* b, __global void* c, long oa, long ob, long oc,
                  long extent) {
  FOR_EACH(i) FLOATS(c, oc)[i] = FLOATS(a, oa)[i] + FLOATS(b, ob)[i];
}
__kernel void scale(__global void* x, long ox, long s, long extent) {
  FOR_EACH(i) FLOATS(x, ox)[i] *= (float)s;
}
__kernel void ramp(__global void* x, long ox, long first, long step, long extent) {
  FOR_EACH(i) INTS(x, ox)[i] = (int)(first + i * step);
}
__kernel void fold(__global void* x, long ox, long s, long extent) {
  FOR_EACH(i) UINTS(x, ox)[i] = UINTS(x, ox)[i] * 3u + (uint)s;
}
__kernel void sentinel(__global void* a, __global void* b, __global void* c, long oa, long ob,
                       long oc, long which, long extent) {
  FOR_EACH(i) {
    if (which == 0) FLOATS(a, oa)[i] = -1000.0f;
    if (which == 1) FLOATS(b, ob)[i] = -1000.0f;
    if (which == 2) FLOATS(c, oc)[i] = -1000.0f;
  }
}
)";

ModuleBlob opencl_blob() {
  ModuleBlob blob;
  blob.platform = "opencl";
  blob.format = "opencl-c";
  auto bytes = std::as_bytes(std::span(kOpenClSource));
  blob.bytes.assign(bytes.begin(), bytes.end());
  blob.entries = native_entries();
  return blob;
}

// The same in GLSL. Compiled once, since it takes a tenth of a second per kernel.
ModuleBlob vulkan_blob() {
  static const ModuleBlob kBlob = testing::glsl_module({
      {"add", {"float", "float", "float"}, 0, "b2[i] = b0[i] + b1[i];"},
      {"scale", {"float"}, 1, "b0[i] *= float(s0);"},
      {"ramp", {"int"}, 2, "b0[i] = s0 + int(i) * s1;"},
      {"fold", {"uint"}, 1, "b0[i] = b0[i] * 3u + uint(s0);"},
      {"sentinel",
       {"float", "float", "float"},
       1,
       "if (s0 == 0) b0[i] = -1000.0; if (s0 == 1) b1[i] = -1000.0; if (s0 == 2) b2[i] = -1000.0;"},
  });
  return kBlob;
}

Result<std::shared_ptr<Device>> create_null() { return std::make_shared<device::NullDevice>(); }

// The test kernels, and generated ones.
class AnyLoader final : public runtime::KernelLoader {
 public:
  Result<std::shared_ptr<runtime::HostCode>> load(const ModuleBlob& blob) noexcept override {
    return blob.format == native_blob().format ? native_.load(blob) : generated_->load(blob);
  }

 private:
  NativeLoader native_;
  std::shared_ptr<runtime::KernelLoader> generated_ = codegen::make_jit_loader();
};

Result<std::shared_ptr<Device>> create_cpu() {
  return std::make_shared<device::CpuDevice>(2, std::make_shared<AnyLoader>());
}
// As in a process that runs kernels under test.
Result<std::shared_ptr<Device>> create_watched_cpu() {
  static runtime::LaunchNote note;
  return device::watch_launches(
      std::make_shared<device::CpuDevice>(2, std::make_shared<AnyLoader>(), device::HostLibraries{},
                                          true),
      {.guard_memory = true, .note = &note});
}
Result<std::shared_ptr<Device>> create_opencl() { return device::create_opencl_device(); }
// The validation layers are active if they are installed: their messages fail the current test.
Result<std::shared_ptr<Device>> open_vulkan(device::VulkanOptions options) {
  options.validation = true;
  auto device = device::create_vulkan_device(options);
  if (device || device.error().hint.find("validation") == std::string::npos) return device;
  options.validation = false;
  return device::create_vulkan_device(options);
}
Result<std::shared_ptr<Device>> create_vulkan() { return open_vulkan({}); }
// As on a GPU whose memory is not visible to the host.
Result<std::shared_ptr<Device>> create_vulkan_apart() {
  device::VulkanOptions options;
  options.map_memory = false;
  return open_vulkan(options);
}

VkResult lost_queue(VkQueue, uint32_t, const VkSubmitInfo*, VkFence) {
  return VK_ERROR_DEVICE_LOST;
}
Result<Platform::Losable> losable_vulkan() {
  TAPML_ASSIGN(std::shared_ptr<device::VulkanContext> context, device::VulkanContext::open({}));
  return Platform::Losable{device::make_vulkan_device(context),
                           [context] { context->vk.QueueSubmit = lost_queue; }};
}

constexpr std::array<Platform, 6> kPlatforms = {{
    {"null", false, false, create_null, [] { return native_blob("null"); }},
    {"cpu", true, false, create_cpu, [] { return native_blob("cpu"); }},
    {"cpu_watched", true, false, create_watched_cpu, [] { return native_blob("cpu"); }},
    {"opencl", true, true, create_opencl, opencl_blob},
    {"vulkan", true, true, create_vulkan, vulkan_blob, false, nullptr, losable_vulkan},
    {"vulkan_apart", true, true, create_vulkan_apart, vulkan_blob},
}};

// One device per platform for the whole process, since drivers start slowly. Devices are never
// destroyed: at process exit the statics of drivers and layers, which were loaded later, are
// destroyed first.
Result<std::shared_ptr<Device>> shared_device(const Platform& platform) {
  static auto& devices = *new std::map<decltype(platform.create), Result<std::shared_ptr<Device>>>;
  auto found = devices.find(platform.create);
  if (found == devices.end()) found = devices.emplace(platform.create, platform.create()).first;
  return found->second;
}

// The server of support/remote_target.h, with its processor once a session has queried it.
target::Target& remote_target() {
  static target::Target target = target::parse_target(testing::remote_target());
  return target;
}
std::unique_ptr<Session> open_remote_target() {
  return testing::open_remote_target(remote_target());
}
ModuleBlob remote_target_blob() {
  static const ModuleBlob kBlob = generated_blob(remote_target().description);
  return kBlob;
}

// One process per session; null without Node.js.
std::unique_ptr<Session> open_wasm() {
  auto session = testing::open_wasm_session();
  if (session) return std::move(*session);
  EXPECT_EQ(session.error().fault, PlatformFault::kAbsent) << session.error().to_string();
  return nullptr;
}
ModuleBlob wasm_blob() {
  static const ModuleBlob kBlob = generated_blob(target::parse_target("wasm").description);
  return kBlob;
}

// A session per Web Worker of one browser; null without a browser.
std::unique_ptr<Session> open_webgpu() {
  auto session = testing::open_browser_session();
  if (session) return std::move(*session);
  EXPECT_EQ(session.error().fault, PlatformFault::kAbsent) << session.error().to_string();
  return nullptr;
}
ModuleBlob webgpu_blob() {
  return testing::wgsl_module({
      {"add", "in in out", {"f32", "f32", "f32"}, 0, "b2[i] = b0[i] + b1[i];"},
      {"scale", "inout", {"f32"}, 1, "b0[i] *= f32(s0);"},
      {"ramp", "out", {"i32"}, 2, "b0[i] = s0 + i32(i) * s1;"},
      {"fold", "inout", {"u32"}, 1, "b0[i] = b0[i] * 3u + u32(s0);"},
      {"sentinel",
       "inout inout inout",
       {"f32", "f32", "f32"},
       1,
       "if (s0 == 0) { b0[i] = -1000.0; } if (s0 == 1) { b1[i] = -1000.0; } "
       "if (s0 == 2) { b2[i] = -1000.0; }"},
  });
}

}  // namespace

// Each available platform, locally and through the protocol.
std::span<const Platform> conformance_platforms() {
  static const std::vector<Platform> kAll = [] {
    static std::deque<std::string> names;
    std::vector<Platform> all(kPlatforms.begin(), kPlatforms.end());
    for (Platform platform : kPlatforms) {
      platform.name = names.emplace_back(std::string(platform.name) + "_remote").c_str();
      platform.remote = true;
      platform.losable = nullptr;  // the device ends with its connection
      all.push_back(platform);
    }
    all.push_back({"wasm", true, true, nullptr, wasm_blob, true, open_wasm});
    all.push_back({"webgpu", true, true, nullptr, webgpu_blob, true, open_webgpu});
    if (!testing::remote_target().empty()) {
      all.push_back(
          {"remote_target", true, false, nullptr, remote_target_blob, true, open_remote_target});
    }
    return all;
  }();
  return kAll;
}

void Conformance::SetUp() {
  if (GetParam().connect) {
    session_ = new_session();
    if (!session_ && GetParam().may_be_absent) GTEST_SKIP() << GetParam().name << " is unavailable";
    ASSERT_TRUE(session_);
    return;
  }
  auto device = shared_device(GetParam());
  if (!device && GetParam().may_be_absent && device.error().fault == PlatformFault::kAbsent) {
    GTEST_SKIP() << GetParam().name << " is unavailable: " << device.error().to_string();
  }
  ASSERT_TRUE(device) << device.error().to_string();
  device_ = *device;
  session_ = new_session();
  ASSERT_TRUE(session_);
}

void Conformance::TearDown() {
  session_.reset();
  servers_.clear();
}

std::unique_ptr<Session> Conformance::new_session() {
  if (GetParam().connect) return GetParam().connect();
  if (GetParam().remote) {
    return servers_.emplace_back(std::make_unique<testing::MemoryServer>(device_))->connect();
  }
  auto session = LocalSession::create(device_);
  EXPECT_TRUE(session) << session.error().to_string();
  return session ? std::move(*session) : nullptr;
}

BufferId Conformance::buffer(int64_t bytes) {
  BufferId id{session().new_handle()};
  Status status = session().allocate(id, bytes);
  EXPECT_TRUE(status) << status.error().to_string();
  return id;
}

KernelId Conformance::kernel(const std::string& entry) {
  if (module_ == ModuleId{}) {
    module_ = ModuleId{session().new_handle()};
    Status loaded = session().load_module(module_, GetParam().module());
    EXPECT_TRUE(loaded) << loaded.error().to_string();
  }
  KernelId id{session().new_handle()};
  Status status = session().get_kernel(id, module_, entry);
  EXPECT_TRUE(status) << status.error().to_string();
  return id;
}

Status Conformance::launch(KernelId kernel, std::vector<BufferRange> buffers,
                           std::vector<int64_t> scalars, int64_t extent, int64_t workgroup_threads,
                           StreamId stream) {
  LaunchRequest request;
  request.kernel = kernel;
  request.buffers = buffers;
  request.scalars = scalars;
  request.extent = extent;
  request.workgroup_threads = workgroup_threads;
  return session().launch(stream, request);
}

}  // namespace tapml::test
