#include "device/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <atomic>

#include "conformance/native_kernels.h"
#include "runtime/local_session.h"

namespace tapml::test {
namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::LaunchRequest;
using runtime::ModuleId;

TEST(CpuDevice, DescribesTheProcessor) {
  device::CpuDevice device(3, nullptr);
  const DeviceInfo& info = device.info();
  EXPECT_EQ(info.platform, "cpu");
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.limits.threads, 3);
  EXPECT_GT(info.limits.max_allocation_bytes, int64_t{1} << 28);
  EXPECT_TRUE(info.features.storage_dtypes.contains(DType::kBF16));
  EXPECT_FALSE(info.features.compute_dtypes.contains(DType::kBF16));
  EXPECT_GE(device::CpuDevice(0, nullptr).info().limits.threads, 1);
}

TEST(CpuDevice, LoadsOnlyItsOwnModulesAndOnlyWithALoader) {
  device::CpuDevice bare(1, nullptr);
  auto module = bare.load(native_blob());
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().fault, PlatformFault::kAbsent);
  device::CpuDevice device(1, std::make_shared<NativeLoader>());
  module = device.load(native_blob("opencl"));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().kind, ErrorKind::kInternal);
  EXPECT_TRUE(device.load(native_blob()));
}

TEST(CpuDevice, SharedMemoryIsOnlyRead) {
  auto device = std::make_shared<device::CpuDevice>(1, nullptr);
  auto session = runtime::LocalSession::create(device);
  ASSERT_TRUE(session);
  auto bytes = std::make_shared<std::vector<std::byte>>(3 * 4096, std::byte{7});
  const auto address = reinterpret_cast<uintptr_t>(bytes->data());
  std::byte* page = bytes->data() + (4096 - address % 4096);
  // The next page may be unmapped, so a vector load at the end would fault.
  EXPECT_FALSE(device->share({page, 0}, bytes));
  EXPECT_FALSE(device->share({page, 4096}, bytes));
  EXPECT_FALSE(device->share({page, 4096 - 63}, bytes));
  auto memory = device->share({page, 4096 - 64}, bytes);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->read_only());
  EXPECT_EQ(memory->size(), 4096 - 64);
  EXPECT_EQ(bytes.use_count(), 2);
  ASSERT_TRUE((*session)->adopt(BufferId{1}, std::move(memory)));
  ASSERT_TRUE((*session)->allocate(BufferId{2}, 16));
  std::vector<std::byte> read(16);
  ASSERT_TRUE((*session)->read(kDefaultStream, {BufferId{1}, 100}, read));
  EXPECT_EQ(read, std::vector<std::byte>(16, std::byte{7}));
  EXPECT_TRUE((*session)->copy(kDefaultStream, {BufferId{1}, 0}, {BufferId{2}, 0}, 16));
  EXPECT_FALSE((*session)->copy(kDefaultStream, {BufferId{2}, 0}, {BufferId{1}, 0}, 16));
  EXPECT_FALSE((*session)->fill_zero(kDefaultStream, {BufferId{1}, 0}, 16));
  const Status written = (*session)->write(kDefaultStream, {BufferId{1}, 0}, read);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("read-only host memory"), std::string::npos);
  EXPECT_EQ((*session)->writable(kDefaultStream, {BufferId{1}, 0}, 16), nullptr);
  // Memory that nothing writes is not part of a snapshot.
  auto snapshot = (*session)->snapshot();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->buffers.size(), 1u);
  EXPECT_EQ(snapshot->buffers[0].first, BufferId{2});
  EXPECT_TRUE((*session)->restore(*snapshot));
  (*session)->release(BufferId{1});
  EXPECT_EQ(bytes.use_count(), 1);
}

TEST(CpuDevice, AdoptedMemoryIsUsedWithoutACopy) {
  auto session = runtime::LocalSession::create(std::make_shared<device::CpuDevice>(1, nullptr));
  ASSERT_TRUE(session);
  auto bytes = std::make_shared<std::vector<std::byte>>(32);
  auto memory = device::wrap_host_memory(bytes->data(), 32, bytes);
  EXPECT_TRUE(device::is_wrapped(memory.get()));
  ASSERT_TRUE((*session)->adopt(BufferId{1}, memory));
  EXPECT_EQ((*session)->host_address(BufferId{1}), bytes->data());
  const std::vector<std::byte> twos(8, std::byte{2});
  ASSERT_TRUE((*session)->write(kDefaultStream, {BufferId{1}, 24}, twos));
  EXPECT_EQ((*bytes)[23], std::byte{0});
  EXPECT_EQ((*bytes)[24], std::byte{2});
  // Handles are used once, ranges stay in bounds, and the owner lives as long as the buffer.
  EXPECT_FALSE((*session)->adopt(BufferId{1}, memory));
  EXPECT_FALSE((*session)->adopt(BufferId{2}, nullptr));
  EXPECT_FALSE((*session)->write(kDefaultStream, {BufferId{1}, 25}, twos));
  memory.reset();
  EXPECT_EQ(bytes.use_count(), 2);
  (*session)->release(BufferId{1});
  EXPECT_EQ(bytes.use_count(), 1);
  EXPECT_FALSE(device::is_wrapped(nullptr));
}

// Ranges that the kernel below was called with.
std::atomic<int64_t> g_calls, g_items, g_smallest;

class CountingLoader final : public runtime::KernelLoader {
 public:
  Result<std::shared_ptr<runtime::HostCode>> load(const ModuleBlob&) noexcept override {
    struct Code final : runtime::HostCode {
      Result<runtime::CpuKernel> find(const std::string&) noexcept override {
        return [](void* const*, const int64_t*, int64_t begin, int64_t end) {
          ++g_calls;
          g_items += end - begin;
          int64_t smallest = g_smallest;
          while (end - begin < smallest &&
                 !g_smallest.compare_exchange_weak(smallest, end - begin)) {
          }
        };
      }
    };
    return std::make_shared<Code>();
  }
};

TEST(CpuDevice, SplitsIterationsButNotIntoTinyRanges) {
  auto device = std::make_shared<device::CpuDevice>(2, std::make_shared<CountingLoader>());
  auto session = std::move(*runtime::LocalSession::create(device));
  ASSERT_TRUE(session->load_module(ModuleId{1}, native_blob()));
  ASSERT_TRUE(session->get_kernel(KernelId{1}, ModuleId{1}, "any"));
  auto run = [&](int64_t extent, int64_t least) {
    g_calls = g_items = 0;
    g_smallest = extent;
    EXPECT_TRUE(session->launch(kDefaultStream, LaunchRequest{KernelId{1}, {}, {}, extent, least}));
    EXPECT_EQ(g_items, extent);
    return g_calls.load();
  };
  EXPECT_GT(run(1000, 1), 1);
  EXPECT_GT(run(1000, 100), 1);
  EXPECT_EQ(g_smallest, 125);
  EXPECT_EQ(run(1000, 1000), 1);
  EXPECT_EQ(run(10, 64), 1);
}

}  // namespace
}  // namespace tapml::test
