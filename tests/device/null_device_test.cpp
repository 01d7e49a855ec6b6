#include "device/null/null_device.h"

#include <gtest/gtest.h>

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

TEST(NullDevice, CountsAndComputesNothing) {
  auto device = std::make_shared<device::NullDevice>();
  auto session = std::move(*runtime::LocalSession::create(device));
  int32_t value = 41;
  ASSERT_TRUE(session->allocate(BufferId{1}, 4));
  ASSERT_TRUE(
      session->write(kDefaultStream, {BufferId{1}, 0}, std::as_bytes(std::span(&value, 1))));
  ASSERT_TRUE(session->load_module(ModuleId{1}, native_blob()));
  ASSERT_TRUE(session->get_kernel(KernelId{1}, ModuleId{1}, "ramp"));
  BufferRange range{BufferId{1}, 0};
  int64_t scalars[] = {7, 1};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session->launch(kDefaultStream,
                                LaunchRequest{KernelId{1}, std::span(&range, 1), scalars, 1, 64}));
  }
  ASSERT_TRUE(session->launch(kDefaultStream,
                              LaunchRequest{KernelId{1}, std::span(&range, 1), scalars, 0, 64}));
  int32_t read = 0;
  ASSERT_TRUE(
      session->read(kDefaultStream, {BufferId{1}, 0}, std::as_writable_bytes(std::span(&read, 1))));
  EXPECT_EQ(read, 41);
  const device::NullCounts& counts = device->counts();
  EXPECT_EQ(counts.allocations, 1);
  EXPECT_EQ(counts.writes, 1);
  EXPECT_EQ(counts.written_bytes, 4);
  EXPECT_EQ(counts.launches, 3);
  EXPECT_EQ(counts.reads, 1);
  EXPECT_EQ(counts.modules, 1);
  EXPECT_EQ(counts.releases, 0);
  session.reset();
  EXPECT_EQ(counts.releases, 1);
}

TEST(NullDevice, MemoryBeginsAsZeros) {
  auto device = std::make_shared<device::NullDevice>();
  for (int64_t size : {int64_t{0}, int64_t{1}, int64_t{100}, int64_t{1} << 20}) {
    // Twice, so that the second allocation may reuse the first one's memory.
    for (int turn = 0; turn < 2; ++turn) {
      auto memory = device->allocate(size);
      ASSERT_TRUE(memory) << memory.error().to_string();
      std::byte* data = (*memory)->host_address();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
      for (int64_t i = 0; i < size; ++i) ASSERT_EQ(data[i], std::byte{0}) << i << " of " << size;
      std::fill(data, data + size, std::byte{0x5a});
    }
  }
}

TEST(NullDevice, ObeysItsLimits) {
  Limits limits = device::NullDevice::default_limits();
  limits.max_allocation_bytes = 100;
  limits.max_workgroup_threads = 8;
  auto session =
      std::move(*runtime::LocalSession::create(std::make_shared<device::NullDevice>(limits)));
  EXPECT_TRUE(session->allocate(BufferId{1}, 100));
  Status refused = session->allocate(BufferId{2}, 101);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, PlatformFault::kLimit);
  ASSERT_TRUE(session->load_module(ModuleId{1}, native_blob()));
  ASSERT_TRUE(session->get_kernel(KernelId{1}, ModuleId{1}, "ramp"));
  BufferRange range{BufferId{1}, 0};
  ASSERT_TRUE(
      session->launch(kDefaultStream, LaunchRequest{KernelId{1}, std::span(&range, 1), {}, 1, 9}));
  refused = session->synchronize(kDefaultStream);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, PlatformFault::kLimit);
  EXPECT_EQ(refused.error().where, "kernel ramp");
}

}  // namespace
}  // namespace tapml::test
