// A session over the protocol: errors are typed and surface where they do in a local session,
// deadlines and limits hold. tests/conformance covers what every session does.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "device/null/null_device.h"
#include "native_device.h"
#include "rpc/session/condition.h"
#include "runtime/test_device.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using namespace std::chrono_literals;
using runtime::BufferId;
using runtime::BufferRange;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::ModuleId;
using runtime::Session;
using testing::MemoryServer;

BufferId new_buffer(Session& session, int64_t bytes) {
  const BufferId id{session.new_handle()};
  Status status = session.allocate(id, bytes);
  EXPECT_TRUE(status) << status.error().to_string();
  return id;
}

KernelId new_kernel(Session& session, const std::string& entry) {
  const ModuleId module{session.new_handle()};
  const KernelId kernel{session.new_handle()};
  EXPECT_TRUE(session.load_module(module, native_blob()));
  EXPECT_TRUE(session.get_kernel(kernel, module, entry));
  return kernel;
}

Status launch_on(Session& session, KernelId kernel, BufferId buffer, std::vector<int64_t> scalars,
                 int64_t extent) {
  const BufferRange range{buffer, 0};
  return session.launch(kDefaultStream, {kernel, std::span(&range, 1), scalars, extent, 64});
}

// A session on a TestDevice.
struct TestRemote {
  explicit TestRemote(rpc::ServerLimits limits = {}, const rpc::ConnectOptions& connect = {}) {
    rpc::ServerOptions options;
    options.limits = limits;
    options.open_device = [this](const std::string&) { return device; };
    server = std::make_unique<MemoryServer>(std::move(options));
    session = server->connect(connect);
  }
  TestBehaviour& behaviour() { return device->behaviour(); }
  Session& operator*() { return *session; }

  std::shared_ptr<TestDevice> device = std::make_shared<TestDevice>();
  std::unique_ptr<MemoryServer> server;
  std::unique_ptr<rpc::RemoteSession> session;
};

TEST(RemoteSession, ShowsTheDevice) {
  MemoryServer server(std::make_shared<device::NullDevice>());
  auto session = server.connect();
  ASSERT_TRUE(session);
  const DeviceInfo expected = device::NullDevice().info();
  const DeviceInfo& info = session->info();
  EXPECT_EQ(info.platform, expected.platform);
  EXPECT_EQ(info.name, expected.name);
  EXPECT_EQ(info.version, expected.version);
  EXPECT_EQ(info.limits.max_workgroup_threads, expected.limits.max_workgroup_threads);
  EXPECT_EQ(info.limits.max_allocation_bytes, expected.limits.max_allocation_bytes);
  EXPECT_EQ(info.limits.max_bindings, expected.limits.max_bindings);
  EXPECT_EQ(info.limits.buffer_alignment, expected.limits.buffer_alignment);
  EXPECT_EQ(info.limits.threads, expected.limits.threads);
  EXPECT_EQ(info.features.storage_dtypes, expected.features.storage_dtypes);
  EXPECT_EQ(info.features.compute_dtypes, expected.features.compute_dtypes);
  EXPECT_EQ(info.features.narrow_stores, expected.features.narrow_stores);
  EXPECT_EQ(info.kind, expected.kind);
  EXPECT_EQ(info.limits.subgroup_width, expected.limits.subgroup_width);
  EXPECT_EQ(session->local(), nullptr);
  session.reset();
  EXPECT_TRUE(server.join());
  MemoryServer processor(native_device());
  session = processor.connect();
  ASSERT_TRUE(session);
  EXPECT_EQ(session->info().kind, DeviceKind::kProcessor);
  session.reset();
  EXPECT_TRUE(processor.join());
}

TEST(RemoteSession, OnlyWaitsBlock) {
  MemoryServer server(native_device());
  auto session = server.connect();
  const KernelId fold = new_kernel(*session, "fold");
  const int64_t before = session->traffic().waits;
  const BufferId buffer = new_buffer(*session, 400);
  std::vector<uint32_t> values(100, 1);
  ASSERT_TRUE(session->write(kDefaultStream, {buffer, 0}, std::as_bytes(std::span(values))));
  for (int64_t i = 0; i < 1000; ++i) ASSERT_TRUE(launch_on(*session, fold, buffer, {i}, 100));
  EXPECT_EQ(session->traffic().waits, before);
  ASSERT_TRUE(
      session->read(kDefaultStream, {buffer, 0}, std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(session->traffic().waits, before + 1);
  uint32_t expected = 1;
  for (uint32_t i = 0; i < 1000; ++i) expected = expected * 3 + i;
  EXPECT_EQ(values, std::vector<uint32_t>(100, expected));
}

TEST(RemoteSession, LargeTensorsPassInParts) {
  MemoryServer server(native_device());
  auto session = server.connect();
  std::vector<uint32_t> values((size_t{21} << 20) / 4 + 3), back(values.size());
  std::iota(values.begin(), values.end(), 7u);
  const auto bytes = std::as_bytes(std::span(values));
  const BufferId buffer = new_buffer(*session, static_cast<int64_t>(bytes.size()));
  ASSERT_TRUE(session->write(kDefaultStream, {buffer, 0}, bytes));
  ASSERT_TRUE(session->read(kDefaultStream, {buffer, 0}, std::as_writable_bytes(std::span(back))));
  EXPECT_EQ(values, back);
  EXPECT_GE(session->traffic().bytes_sent, static_cast<int64_t>(bytes.size()));
  EXPECT_GE(session->traffic().bytes_received, static_cast<int64_t>(bytes.size()));
  EXPECT_LE(session->traffic().requests, 20);
}

TEST(RemoteSession, ErrorsOfWorkSurfaceAtTheNextWait) {
  TestRemote remote;
  const KernelId ramp = new_kernel(*remote, "ramp");
  const BufferId buffer = new_buffer(*remote, 16);
  remote.behaviour().launch_error =
      platform_error(PlatformFault::kOutOfMemory, "no registers", "", "use fewer");
  EXPECT_TRUE(launch_on(*remote, ramp, buffer, {1, 1}, 4));
  EXPECT_TRUE(launch_on(*remote, ramp, buffer, {5, 1}, 4)) << "skipped";
  Status status = (*remote).synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kPlatform);
  EXPECT_EQ(status.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_EQ(status.error().message, "no registers");
  EXPECT_EQ(status.error().where, "kernel ramp");
  EXPECT_EQ(status.error().hint, "use fewer");
  EXPECT_TRUE((*remote).synchronize(kDefaultStream)) << "the stream starts afresh";
  EXPECT_EQ(remote.behaviour().extents.size(), 0u);
  EXPECT_TRUE(launch_on(*remote, ramp, buffer, {5, 1}, 4));
  std::vector<int32_t> values(4);
  EXPECT_TRUE(
      (*remote).read(kDefaultStream, {buffer, 0}, std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(values, (std::vector<int32_t>{5, 6, 7, 8}));
}

TEST(RemoteSession, AFailedAllocationSurfacesAndTheSessionContinues) {
  TestRemote remote;
  const KernelId ramp = new_kernel(*remote, "ramp");
  const BufferId good = new_buffer(*remote, 16);
  ASSERT_TRUE((*remote).synchronize(kDefaultStream));
  remote.behaviour().fail_allocations = 1;
  const BufferId bad = new_buffer(*remote, 16);  // before any wait
  std::vector<int32_t> values(4, 9);
  EXPECT_TRUE((*remote).write(kDefaultStream, {bad, 0}, std::as_bytes(std::span(values))));
  EXPECT_TRUE(launch_on(*remote, ramp, bad, {1, 1}, 4));
  EXPECT_TRUE((*remote).copy(kDefaultStream, {bad, 0}, {good, 0}, 16));
  EXPECT_TRUE(launch_on(*remote, ramp, good, {3, 1}, 4));
  Status status = (*remote).synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_EQ(status.error().message, "no memory");
  EXPECT_EQ(remote.behaviour().extents.size(), 1u) << "what uses the buffer is skipped";
  EXPECT_TRUE((*remote).synchronize(kDefaultStream));
  status = (*remote).read(kDefaultStream, {bad, 0}, std::as_writable_bytes(std::span(values)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_TRUE((*remote).read(kDefaultStream, {good, 0}, std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(values, (std::vector<int32_t>{3, 4, 5, 6}));
  (*remote).release(bad);
  EXPECT_TRUE((*remote).allocate(bad, 16));
  EXPECT_TRUE((*remote).fill_zero(kDefaultStream, {bad, 0}, 16));
  EXPECT_TRUE((*remote).synchronize(kDefaultStream));
}

TEST(RemoteSession, LargeAllocationsAreWaitedFor) {
  TestRemote remote;
  remote.behaviour().fail_allocations = 1;
  const BufferId id{(*remote).new_handle()};
  Status status = (*remote).allocate(id, rpc::RemoteSession::kLargeAllocation);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_TRUE((*remote).allocate(id, rpc::RemoteSession::kLargeAllocation)) << "the name is free";
  EXPECT_TRUE((*remote).synchronize(kDefaultStream));
}

TEST(RemoteSession, MemoryOfASessionIsLimited) {
  rpc::ServerLimits limits;
  limits.memory_bytes = 1000;
  TestRemote remote(limits);
  const BufferId first = new_buffer(*remote, 900);
  const BufferId second = new_buffer(*remote, 101);
  Status status = (*remote).synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_NE(status.error().message.find("1000"), std::string::npos);
  (*remote).release(first);
  (*remote).release(second);
  EXPECT_TRUE((*remote).allocate(second, 1000));
  EXPECT_TRUE((*remote).synchronize(kDefaultStream));
}

TEST(RemoteSession, HandlesOfASessionAreLimited) {
  rpc::ServerLimits limits;
  limits.handles = 10;
  TestRemote remote(limits);
  std::vector<BufferId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(new_buffer(*remote, 4));
  EXPECT_TRUE((*remote).synchronize(kDefaultStream));
  const BufferId more = new_buffer(*remote, 4);
  Status status = (*remote).synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLimit);
  (*remote).release(more);
  (*remote).release(ids[0]);
  EXPECT_TRUE((*remote).allocate(more, 4));
  EXPECT_TRUE((*remote).synchronize(kDefaultStream));
}

TEST(RemoteSession, ModulesAreLimited) {
  rpc::ServerLimits limits;
  limits.module_bytes = 100;
  TestRemote remote(limits);
  ModuleBlob blob = native_blob();
  blob.bytes.resize(101);
  Status status = (*remote).load_module(ModuleId{(*remote).new_handle()}, blob);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLimit);
  blob.bytes.resize(100);
  EXPECT_TRUE((*remote).load_module(ModuleId{(*remote).new_handle()}, blob));
  EXPECT_TRUE((*remote).load_module(ModuleId{(*remote).new_handle()}, blob)) << "blobs are gone";
}

TEST(RemoteSession, AllModulesOfASessionAreLimitedTogether) {
  rpc::ServerLimits limits;
  limits.code_bytes = 250;
  TestRemote remote(limits);
  ModuleBlob blob = native_blob();
  blob.bytes.resize(100);
  const ModuleId first{(*remote).new_handle()};
  EXPECT_TRUE((*remote).load_module(first, blob));
  EXPECT_TRUE((*remote).load_module(ModuleId{(*remote).new_handle()}, blob));
  const Status status = (*remote).load_module(ModuleId{(*remote).new_handle()}, blob);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLimit);
  testing::expect_parts(status.error(), {"100 bytes", "200 already", "250"});
  // Releasing a module frees its space, and the session continues.
  (*remote).unload_module(first);
  EXPECT_TRUE((*remote).load_module(ModuleId{(*remote).new_handle()}, blob));
}

// A device whose launches last as long as the test wants.
class Gate {
 public:
  void open() {
    open_ = true;
    open_.notify_all();
  }
  void wait() {
    open_.wait(false);
    std::this_thread::sleep_for(delay.load());
  }
  std::atomic<std::chrono::milliseconds> delay{0ms};

 private:
  std::atomic<bool> open_{false};
};

class GateQueue final : public runtime::DeviceQueue {
 public:
  GateQueue(std::unique_ptr<runtime::DeviceQueue> queue, std::shared_ptr<Gate> gate)
      : queue_(std::move(queue)), gate_(std::move(gate)) {}
  Status write(runtime::DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    return queue_->write(to, offset, bytes);
  }
  Status copy(runtime::DeviceMemory& from, int64_t from_offset, runtime::DeviceMemory& to,
              int64_t to_offset, int64_t size) noexcept override {
    return queue_->copy(from, from_offset, to, to_offset, size);
  }
  Status fill_zero(runtime::DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return queue_->fill_zero(to, offset, size);
  }
  Status launch(runtime::DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept override {
    gate_->wait();
    return queue_->launch(kernel, args);
  }
  Status read(runtime::DeviceMemory& from, int64_t offset,
              std::span<std::byte> bytes) noexcept override {
    return queue_->read(from, offset, bytes);
  }
  Status synchronize() noexcept override { return queue_->synchronize(); }

 private:
  std::unique_ptr<runtime::DeviceQueue> queue_;
  std::shared_ptr<Gate> gate_;
};

class GateDevice final : public runtime::Device {
 public:
  const DeviceInfo& info() const noexcept override { return device_.info(); }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override {
    return device_.allocate(bytes);
  }
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    return device_.load(blob);
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    TAPML_ASSIGN(auto queue, device_.create_queue());
    return std::make_unique<GateQueue>(std::move(queue), gate);
  }
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();

 private:
  TestDevice device_;
};

TEST(RemoteSession, ADeadlinePassesAndTheSessionStays) {
  auto device = std::make_shared<GateDevice>();
  MemoryServer server(device);
  auto session = server.connect();
  const KernelId ramp = new_kernel(*session, "ramp");
  const BufferId buffer = new_buffer(*session, 4 << 20);
  ASSERT_TRUE(launch_on(*session, ramp, buffer, {0, 1}, 1 << 20));
  std::vector<int32_t> values(1 << 20, -1);
  const auto start = rpc::Clock::now();
  Status status = session->read(kDefaultStream, {buffer, 0},
                                std::as_writable_bytes(std::span(values)), start + 50ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kTimeout);
  EXPECT_LT(rpc::Clock::now() - start, 1050ms);
  status = session->synchronize(kDefaultStream, rpc::Clock::now() + 20ms);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kTimeout);
  EXPECT_EQ(values, std::vector<int32_t>(1 << 20, -1));
  device->gate->open();
  // Late replies are not taken for replies to the current request.
  ASSERT_TRUE(session->read(kDefaultStream, {buffer, 400},
                            std::as_writable_bytes(std::span(values).first(4))));
  EXPECT_EQ(values[0], 100);
  EXPECT_EQ(values[3], 103);
  EXPECT_EQ(values[4], -1);
  EXPECT_TRUE(session->synchronize(kDefaultStream, rpc::Clock::now() + 10s));
}

TEST(RemoteSession, HeartbeatsKeepAWaitAlive) {
  auto device = std::make_shared<GateDevice>();
  rpc::ServerOptions options;
  options.limits.heartbeat = 20ms;
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  rpc::ConnectOptions connect;
  connect.silence = 200ms;
  auto session = server.connect(connect);
  const KernelId ramp = new_kernel(*session, "ramp");
  const BufferId buffer = new_buffer(*session, 16);
  ASSERT_TRUE(launch_on(*session, ramp, buffer, {0, 1}, 4));
  std::thread opener([&] {
    std::this_thread::sleep_for(600ms);
    device->gate->open();
  });
  Status status = session->synchronize(kDefaultStream);
  EXPECT_TRUE(status) << status.error().to_string();
  opener.join();
}

TEST(RemoteSession, HeartbeatsComeBetweenManyShortRequests) {
  auto device = std::make_shared<GateDevice>();
  device->gate->open();
  rpc::ServerOptions options;
  options.limits.heartbeat = 20ms;
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  rpc::ConnectOptions connect;
  connect.silence = 300ms;
  auto session = server.connect(connect);
  const KernelId ramp = new_kernel(*session, "ramp");
  const BufferId buffer = new_buffer(*session, 20'000);
  device->gate->delay = 10ms;
  for (int i = 0; i < 90; ++i) {
    // Too large to share a frame with the next one.
    ASSERT_TRUE(session->write(kDefaultStream, {buffer, 0}, std::vector<std::byte>(20'000)));
    ASSERT_TRUE(launch_on(*session, ramp, buffer, {0, 1}, 4));
  }
  Status status = session->synchronize(kDefaultStream);
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(RemoteSession, SilenceLosesTheSession) {
  auto device = std::make_shared<GateDevice>();
  rpc::ServerOptions options;
  options.limits.heartbeat = 10s;
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  rpc::ConnectOptions connect;
  connect.silence = 100ms;
  auto session = server.connect(connect);
  const KernelId ramp = new_kernel(*session, "ramp");
  const BufferId buffer = new_buffer(*session, 16);
  ASSERT_TRUE(launch_on(*session, ramp, buffer, {0, 1}, 4));
  Status status = session->synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLost);
  // The session stays lost: immediately, with the same error.
  status = session->allocate(BufferId{session->new_handle()}, 4);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLost);
  device->gate->open();
}

TEST(RemoteSession, AServerThatEndsLosesTheSession) {
  rpc::ServerOptions options;
  options.limits.idle = 50ms;
  options.open_device = [](const std::string&) { return std::make_shared<TestDevice>(); };
  MemoryServer server(options);
  auto session = server.connect();
  const BufferId buffer = new_buffer(*session, 16);
  std::this_thread::sleep_for(300ms);
  Status status = session->fill_zero(kDefaultStream, {buffer, 0}, 16);
  if (status) status = session->synchronize(kDefaultStream);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, PlatformFault::kLost) << "no kernel took too long";
  testing::expect_parts(status.error(), {"idle for 50 ms", "--idle-seconds"});
  Status ended = server.join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().fault, PlatformFault::kLost);
}

TEST(RemoteSession, ThreadsThatWaitGetEachTheirReply) {
  MemoryServer server(native_device());
  auto session = server.connect();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (uint32_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const BufferId buffer = new_buffer(*session, 400'000);
      std::vector<uint32_t> values(100'000, t), back(100'000);
      for (int i = 0; i < 20; ++i) {
        for (uint32_t& value : values) value += 10;
        if (!session->write(kDefaultStream, {buffer, 0}, std::as_bytes(std::span(values)))) return;
        if (!session->read(kDefaultStream, {buffer, 0}, std::as_writable_bytes(std::span(back)))) {
          return;
        }
        if (back != values) return;
      }
      ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 6);
}

TEST(RemoteSession, StatusOpensNoDevice) {
  rpc::ServerOptions options;
  options.token = "secret";
  options.describe = [] { return std::string("{\"sessions\": 1}"); };
  rpc::ConnectOptions connect;
  {
    MemoryServer server(options);
    connect.token = "secret";
    auto channel = server.take_client();
    auto status = rpc::query_status(*channel, connect);
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(*status, "{\"sessions\": 1}");
    EXPECT_TRUE(server.join());
  }
  MemoryServer server(options);
  connect.token = "secreT";
  auto channel = server.take_client();
  auto status = rpc::query_status(*channel, connect);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUser);
}

TEST(RemoteSession, OpeningTheDeviceFailsWithTheRemoteError) {
  rpc::ServerOptions options;
  std::string asked;
  options.open_device = [&](const std::string& target) -> Result<std::shared_ptr<runtime::Device>> {
    asked = target;
    return fail(user_error("no such device", target, "device 0", "device 7", "ask for another"));
  };
  MemoryServer server(options);
  rpc::ConnectOptions connect;
  connect.target = "opencl:device=7";
  auto session = rpc::RemoteSession::connect(server.take_client(), connect);
  ASSERT_FALSE(session);
  EXPECT_EQ(asked, "opencl:device=7");
  EXPECT_EQ(session.error().to_string(), user_error("no such device", "opencl:device=7", "device 0",
                                                    "device 7", "ask for another")
                                             .to_string());
  EXPECT_FALSE(server.join());
}

TEST(RemoteSession, ActivityReportsWhatIsRunning) {
  auto device = std::make_shared<GateDevice>();
  std::atomic<bool> running = false;
  std::atomic<int> begun = 0;
  rpc::ServerOptions options;
  options.open_device = [device](const std::string&) { return device; };
  options.activity = [&](bool begins) {
    running = begins;
    begun += begins ? 1 : 0;
  };
  MemoryServer server(options);
  auto session = server.connect();
  const KernelId ramp = new_kernel(*session, "ramp");
  const BufferId buffer = new_buffer(*session, 16);
  ASSERT_TRUE(session->synchronize(kDefaultStream));
  ASSERT_TRUE(launch_on(*session, ramp, buffer, {0, 1}, 4));
  EXPECT_FALSE(session->synchronize(kDefaultStream, rpc::Clock::now() + 20ms));
  EXPECT_TRUE(running);
  device->gate->open();
  ASSERT_TRUE(session->synchronize(kDefaultStream));
  session.reset();
  EXPECT_TRUE(server.join());
  EXPECT_FALSE(running);
  EXPECT_GT(begun, 2);
}

}  // namespace
}  // namespace tapml::test
