#include "device/opencl/opencl_device.h"

#include <gtest/gtest.h>

#include "runtime/local_session.h"
#include "support/memory_channel.h"
#include "support/temp_folder.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::LaunchRequest;
using runtime::ModuleId;

ModuleBlob source(const std::string& text) {
  ModuleBlob blob;
  blob.platform = "opencl";
  blob.format = "opencl-c";
  auto bytes = std::as_bytes(std::span(text));
  blob.bytes.assign(bytes.begin(), bytes.end());
  return blob;
}

constexpr const char* kCopy = R"(
__kernel void one(__global void* x, long o, long s, long extent) {
  for (long i = get_global_id(0); i < extent; i += get_global_size(0))
    ((__global int*)((__global char*)x + o))[i] = (int)s;
}
__kernel void half_copy(__global void* x, __global void* y, long ox, long oy, long extent) {
  for (long i = get_global_id(0); i < extent; i += get_global_size(0))
    vstore_half(2.0f * vload_half(i, (__global half*)((__global char*)x + ox)), i,
                (__global half*)((__global char*)y + oy));
})";

class OpenClDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = device::create_opencl_device();
    if (!device && device.error().fault == PlatformFault::kAbsent) {
      GTEST_SKIP() << device.error().to_string();
    }
    ASSERT_TRUE(device) << device.error().to_string();
    device_ = *device;
    session_ = std::move(*runtime::LocalSession::create(device_));
  }
  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Session> session_;
};

TEST_F(OpenClDeviceTest, DescribesTheDevice) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.platform, "opencl");
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.version.rfind("OpenCL ", 0), 0u) << info.version;
  if (info.version.find("PoCL") != std::string::npos) {
    EXPECT_EQ(info.kind, DeviceKind::kProcessor);
  }
  EXPECT_GE(info.limits.max_workgroup_threads, 1);
  EXPECT_GT(info.limits.max_binding_bytes, 0);
  EXPECT_GE(info.limits.max_bindings, 8);
  EXPECT_GE(info.limits.max_local_memory, 1024);
  EXPECT_TRUE(info.features.storage_dtypes.contains(DType::kF16));
  EXPECT_TRUE(info.features.compute_dtypes.contains(DType::kF32));
  auto all = device::list_opencl_devices();
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->empty());
}

TEST_F(OpenClDeviceTest, AnUnknownDevice) {
  auto missing = device::create_opencl_device({.device = 1000});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, PlatformFault::kAbsent);
  EXPECT_NE(missing.error().hint.find("tapml devices"), std::string::npos);
}

TEST_F(OpenClDeviceTest, ABuildFailureHoldsTheLog) {
  auto module = device_->load(source("__kernel void f(long extent) { undeclared_name = 1; }"));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().kind, ErrorKind::kInternal);
  EXPECT_EQ(module.error().fault, PlatformFault::kCompile);
  EXPECT_NE(module.error().found.find("undeclared_name"), std::string::npos)
      << module.error().to_string();
  EXPECT_FALSE(device_->load(ModuleBlob{"cpu", "elf-object"}));
}

TEST_F(OpenClDeviceTest, ABuildFailureIsTheSameRemotely) {
  testing::MemoryServer server(device_);
  auto session = server.connect();
  Status loaded = session->load_module(
      runtime::ModuleId{1}, source("__kernel void f(long extent) { undeclared_name = 1; }"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kInternal);
  EXPECT_EQ(loaded.error().fault, PlatformFault::kCompile);
}

TEST_F(OpenClDeviceTest, TheSameSourceIsBuiltOnce) {
  auto first = device_->load(source(kCopy));
  ASSERT_TRUE(first) << first.error().to_string();
  EXPECT_EQ(*device_->load(source(kCopy)), *first);
  EXPECT_NE(*device_->load(source(std::string(kCopy) + "\n")), *first);
}

// The only key of a cache folder.
std::string only_key(const std::string& folder) {
  for (const std::string& name : testing::names_under(folder)) {
    if (name.size() > 64) return name.substr(3, 2) + name.substr(6);  // v1/ab/cdef..
  }
  ADD_FAILURE() << "no entry in " << folder;
  return "";
}

TEST_F(OpenClDeviceTest, ProgramsAreKeptBetweenProcesses) {
  testing::TempFolder folder;
  // A device of another process, with the given cache.
  auto open = [&](std::shared_ptr<DiskCache>& disk) {
    disk = std::make_shared<DiskCache>(DiskCacheOptions{folder / "cache", {}});
    return *device::create_opencl_device({.programs = disk});
  };
  auto runs = [&](const std::shared_ptr<runtime::Device>& device) {
    auto session = std::move(*runtime::LocalSession::create(device));
    EXPECT_TRUE(session->load_module(ModuleId{1}, source(kCopy)));
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
  EXPECT_EQ(runs(open(first)), 7);
  EXPECT_EQ(first->hits(), 0);
  EXPECT_EQ(first->misses(), 1);
  std::string key = only_key(folder / "cache");

  EXPECT_EQ(runs(open(second)), 7);
  EXPECT_EQ(second->hits(), 1);

  // Bytes that the driver rejects are rebuilt and stored again.
  second->put(key, std::as_bytes(std::span("not a program")));
  EXPECT_EQ(runs(open(third)), 7);
  EXPECT_GT(third->get(key)->size(), 100u);

  // A program that does not build stores nothing.
  auto device = open(fourth);
  EXPECT_FALSE(device->load(source("__kernel void f(long extent) { undeclared_name = 1; }")));
  EXPECT_EQ(fourth->misses(), 1);
  EXPECT_EQ(fourth->summary().entries, 1);
}

TEST_F(OpenClDeviceTest, HalfStorage) {
  ASSERT_TRUE(session_->load_module(ModuleId{1}, source(kCopy)));
  ASSERT_TRUE(session_->get_kernel(KernelId{1}, ModuleId{1}, "half_copy"));
  ASSERT_TRUE(session_->allocate(BufferId{1}, 64));
  std::vector<uint16_t> values = {f32_to_f16(1.5f), f32_to_f16(-3.0f), f32_to_f16(1e-3f)};
  ASSERT_TRUE(session_->write(kDefaultStream, {BufferId{1}, 0}, std::as_bytes(std::span(values))));
  BufferRange ranges[] = {{BufferId{1}, 0}, {BufferId{1}, 32}};
  ASSERT_TRUE(session_->launch(kDefaultStream, LaunchRequest{KernelId{1}, ranges, {}, 3, 1}));
  std::vector<uint16_t> doubled(3);
  Status status =
      session_->read(kDefaultStream, {BufferId{1}, 32}, std::as_writable_bytes(std::span(doubled)));
  ASSERT_TRUE(status) << status.error().to_string();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f16_to_f32(doubled[i]), 2 * f16_to_f32(values[i]));
}

TEST_F(OpenClDeviceTest, LaunchesThatDoNotFitSurfaceAtTheWait) {
  ASSERT_TRUE(session_->load_module(ModuleId{1}, source(kCopy)));
  ASSERT_TRUE(session_->get_kernel(KernelId{1}, ModuleId{1}, "one"));
  ASSERT_TRUE(session_->allocate(BufferId{1}, 64));
  BufferRange range{BufferId{1}, 0};
  int64_t scalar = 5;
  LaunchRequest request{KernelId{1}, std::span(&range, 1), {}, 4, 1};
  ASSERT_TRUE(session_->launch(kDefaultStream, request));
  Status status = session_->synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "kernel one declares 4 arguments for 1 buffers, 0 scalars and 0 shared buffers");

  request.scalars = std::span(&scalar, 1);
  request.workgroup_threads = int64_t{1} << 30;
  ASSERT_TRUE(session_->launch(kDefaultStream, request));
  status = session_->synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLimit);

  request.workgroup_threads = 4;
  ASSERT_TRUE(session_->launch(kDefaultStream, request));
  int32_t value = 0;
  EXPECT_TRUE(session_->read(kDefaultStream, {BufferId{1}, 12},
                             std::as_writable_bytes(std::span(&value, 1))));
  EXPECT_EQ(value, 5);
}

}  // namespace
}  // namespace tapml::test
