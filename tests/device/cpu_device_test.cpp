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

TEST(CpuDevice, DescribesTheMachine) {
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

TEST(CpuDevice, MemoryOfOthersIsUsedWhereItLies) {
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
  // Handles are named once, ranges stay inside, and the owner is kept as long as the buffer.
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

TEST(CpuDevice, SharesOutIterationsButNoCrumbs) {
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
