// Devices that meet their claims pass; a faulty device is detected, and its other checks still run.
#include "topdown/device_check/device_check.h"

#include <gtest/gtest.h>

#include <set>

#include "support/memory_channel.h"
#include "support/sessions.h"

namespace tapml::topdown {
namespace {

void expect_all_pass(runtime::Session& session, const char* target) {
  int told = 0;
  const auto checks =
      check_device(session, target::parse_target(target), [&](const DeviceCheck&) { ++told; });
  EXPECT_GE(checks.size(), 12u);
  EXPECT_EQ(told, static_cast<int>(checks.size()));
  for (const DeviceCheck& check : checks)
    EXPECT_EQ(check.found, "") << target << ": " << check.name;
}

TEST(DeviceCheck, LocalPlatformsPass) {
  for (const char* target : {"null", "cpu", "opencl", "vulkan"}) {
    auto session = testing::open_session(target);
    if (session) expect_all_pass(*session, target);
  }
}

TEST(DeviceCheck, ARemotePasses) {
  testing::MemoryServer server(std::make_shared<device::CpuDevice>(1, codegen::make_jit_loader()));
  auto session = server.connect();
  ASSERT_TRUE(session);
  expect_all_pass(*session, "cpu");
}

// A cpu whose queues drop one operation.
enum class Fault : uint8_t { kNone, kCopy, kFill, kLaunch, kWrite };

class FaultyQueue final : public runtime::DeviceQueue {
 public:
  FaultyQueue(std::unique_ptr<DeviceQueue> queue, Fault fault)
      : queue_(std::move(queue)), fault_(fault) {}
  Status write(runtime::DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    // Drops the last byte of a long write.
    if (fault_ == Fault::kWrite && bytes.size() > 1000) bytes = bytes.first(bytes.size() - 1);
    return queue_->write(to, offset, bytes);
  }
  Status copy(runtime::DeviceMemory& from, int64_t from_offset, runtime::DeviceMemory& to,
              int64_t to_offset, int64_t size) noexcept override {
    return queue_->copy(from, from_offset, to, to_offset, fault_ == Fault::kCopy ? size / 2 : size);
  }
  Status fill_zero(runtime::DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return fault_ == Fault::kFill ? Status() : queue_->fill_zero(to, offset, size);
  }
  // Drops the tail that no whole group covers.
  Status launch(runtime::DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept override {
    runtime::LaunchArgs less = args;
    if (fault_ == Fault::kLaunch) less.extent -= less.extent > 1 ? 1 : 0;
    return queue_->launch(kernel, less);
  }
  Status read(runtime::DeviceMemory& from, int64_t offset,
              std::span<std::byte> bytes) noexcept override {
    return queue_->read(from, offset, bytes);
  }
  Status synchronize() noexcept override { return queue_->synchronize(); }

 private:
  std::unique_ptr<DeviceQueue> queue_;
  Fault fault_;
};

class FaultyDevice final : public runtime::Device {
 public:
  explicit FaultyDevice(Fault fault) : fault_(fault) {}
  const DeviceInfo& info() const noexcept override { return cpu_.info(); }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override {
    return cpu_.allocate(bytes);
  }
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    return cpu_.load(blob);
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    TAPML_ASSIGN(auto queue, cpu_.create_queue());
    return std::make_unique<FaultyQueue>(std::move(queue), fault_);
  }

 private:
  device::CpuDevice cpu_{1, codegen::make_jit_loader()};
  Fault fault_;
};

std::set<std::string> failed_with(Fault fault) {
  auto session = std::move(*runtime::LocalSession::create(std::make_shared<FaultyDevice>(fault)));
  std::set<std::string> failed;
  for (const DeviceCheck& check : check_device(*session, target::parse_target("cpu"))) {
    if (!check.passed()) failed.insert(check.name);
  }
  return failed;
}

TEST(DeviceCheck, DroppedOperationsAreFound) {
  EXPECT_EQ(failed_with(Fault::kNone), (std::set<std::string>{}));
  EXPECT_TRUE(failed_with(Fault::kCopy).contains("copies"));
  EXPECT_TRUE(failed_with(Fault::kFill).contains("ranges inside a buffer"));
  const auto written = failed_with(Fault::kWrite);
  EXPECT_TRUE(written.contains("written bytes are read"));
  EXPECT_TRUE(written.contains("streams and events"));
  EXPECT_FALSE(written.contains("copies"));
  const auto launched = failed_with(Fault::kLaunch);
  EXPECT_TRUE(launched.contains("sums, products and softmax"));
  EXPECT_FALSE(launched.contains("snapshots"));
}

}  // namespace
}  // namespace tapml::topdown
