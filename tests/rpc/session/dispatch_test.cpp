// A VM beside a remote device whose kernel calls are computed locally: the results are those of a
// local VM.
#include "runtime/dispatch.h"

#include <gtest/gtest.h>

#include <future>

#include "conformance/programs.h"
#include "rpc/session/client_session.h"
#include "runtime/capture.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"
#include "runtime/offload.h"
#include "slow_device.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using namespace std::chrono_literals;
using runtime::CallSite;
using runtime::DispatchPlan;
using runtime::KernelRunner;
using runtime::Offload;
using runtime::Residency;
using runtime::Tensor;
using runtime::Value;
using testing::fault_of;
using testing::MemoryServer;

const DispatchPlan kAdds{{0, 1}}, kLast{{2}}, kAll{{0, 1, 2}};

class Dispatch : public ::testing::Test {
 protected:
  // With `entry`, the VM's own add can be made to spoil its output.
  void connect(const std::string& entry = "sentinel", const rpc::ConnectOptions& options = {},
               std::unique_ptr<MemoryServer> server = nullptr) {
    server_ = server ? std::move(server) : std::make_unique<MemoryServer>(device_);
    remote_session_ = server_->connect(options);
    remote_ = std::move(*remote_session_->open_vm(share(chain_program(native_blob(), entry))));
    open_target();
    x_ = *runtime::upload(*remote_session_, f32({1, 2}));
    y_ = *runtime::upload(*remote_session_, f32({10, 20}));
  }
  void open_target() {
    offload_.reset();
    residency_.reset();
    target_.reset();
    local_session_ = std::move(*runtime::LocalSession::create(target_device_));
    target_ = std::move(*KernelRunner::create(*local_session_, share(kernels_only(native_blob()))));
    residency_.emplace(*local_session_);
    offload_.emplace(*target_, *residency_);
  }
  Result<std::vector<float>> run(runtime::Deadline deadline = {}) {
    const std::vector<Value> args = {x_, y_};
    TAPML_ASSIGN(const auto read, remote_->call_and_read("main", args, 0, deadline));
    return floats(read.bytes);
  }
  void expect_right() {
    auto result = run();
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*result, (std::vector<float>{63, 126}));
  }

  std::shared_ptr<SlowDevice> device_ = std::make_shared<SlowDevice>();
  std::shared_ptr<TestDevice> target_device_ = std::make_shared<TestDevice>();
  std::unique_ptr<MemoryServer> server_;
  std::unique_ptr<rpc::RemoteSession> remote_session_;
  std::unique_ptr<runtime::LocalSession> local_session_;
  std::unique_ptr<runtime::VirtualMachine> remote_;
  std::unique_ptr<KernelRunner> target_;
  std::optional<Residency> residency_;
  std::optional<Offload> offload_;
  Tensor x_, y_;
};

TEST_F(Dispatch, TheLocalSideComputesInsteadOfTheRemote) {
  connect();
  EXPECT_NE(*run(), (std::vector<float>{63, 126})) << "the sentinel shows where it runs";
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &*offload_));
  const int launched = device_->stop->launches;
  expect_right();
  EXPECT_EQ(offload_->calls(), 2);
  EXPECT_EQ(device_->stop->launches, launched + 1) << "scale is still the other side's";
  ASSERT_TRUE(remote_->set_dispatch(kAll, &*offload_));
  expect_right();
  EXPECT_EQ(offload_->calls(), 5);
  EXPECT_EQ(device_->stop->launches, launched + 1);
  ASSERT_TRUE(remote_->set_dispatch({}, nullptr));
  EXPECT_NE(*run(), (std::vector<float>{63, 126}));
  EXPECT_EQ(offload_->calls(), 5);
}

TEST_F(Dispatch, OnlyNewBytesTravel) {
  connect();
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &*offload_));
  expect_right();
  EXPECT_EQ(residency_->copies().to_target, 2) << "x and y; the sum between stays local";
  EXPECT_EQ(residency_->copies().from_target, 2);
  expect_right();
  EXPECT_EQ(residency_->copies().to_target, 2) << "a run writes neither x nor y";
  const std::vector<float> seven = {7};
  ASSERT_TRUE(remote_session_->write(runtime::kDefaultStream, {x_.storage->buffer(), 0},
                                     std::as_bytes(std::span(seven))));
  x_.storage->written(0, 4);
  auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (std::vector<float>{81, 126}));
  EXPECT_EQ(residency_->copies().to_target, 3);
}

// Writes of remote kernels between two dispatched calls invalidate the local copies.
TEST_F(Dispatch, SeesWritesOfTheVirtualMachine) {
  connect("add");
  ASSERT_TRUE(remote_->set_dispatch({{1}}, &*offload_));
  for (const float first : {1.0F, 5.0F, 9.0F}) {
    const std::vector<float> value = {first};
    ASSERT_TRUE(remote_session_->write(runtime::kDefaultStream, {x_.storage->buffer(), 0},
                                       std::as_bytes(std::span(value))));
    x_.storage->written(0, 4);
    auto result = run();  // t = x + y remotely, t + y locally
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*result, (std::vector<float>{(first + 20) * 3, 126}));
  }
  ASSERT_TRUE(remote_->set_dispatch(kLast, &*offload_));  // over the values written remotely
  auto result = run();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(*result, (std::vector<float>{87, 126}));
}

TEST_F(Dispatch, IsCapturedAsAnyRun) {
  class Sink final : public runtime::CaptureSink {
   public:
    bool has(const std::string& hash) noexcept override { return given.contains(hash); }
    Status content(const std::string& hash, const HostTensor&, bool) noexcept override {
      given.insert(hash);
      return {};
    }
    Status call(runtime::CapturedCall call) noexcept override {
      last = call.after.back();
      ++calls;
      return {};
    }
    std::set<std::string> given;
    std::string last;
    int calls = 0;
  };
  connect();
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &*offload_));
  Sink sink;
  ASSERT_TRUE(remote_->set_capture({}, &sink));
  expect_right();
  expect_right();
  EXPECT_EQ(sink.calls, 6);
  EXPECT_EQ(sink.last, content_hash(f32({63, 126})));
  EXPECT_EQ(sink.given.size(), 5U) << "x, y, both sums and the result";
}

TEST_F(Dispatch, ALocalErrorEndsTheRemoteRun) {
  connect();
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &*offload_));
  expect_right();
  ASSERT_TRUE(remote_session_->synchronize(runtime::kDefaultStream));
  const int64_t live = device_->live_bytes();
  target_device_->behaviour().launch_error = platform_error(PlatformFault::kLost, "it is gone");
  auto result = run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "it is gone");
  // The session and the VM continue, and nothing of the run is left.
  open_target();
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &*offload_));
  for (int i = 0; i < 5; ++i) expect_right();
  ASSERT_TRUE(remote_session_->synchronize(runtime::kDefaultStream));
  EXPECT_EQ(device_->live_bytes(), live);
}

// Fails or delays at the given call.
class Special final : public runtime::Dispatcher {
 public:
  explicit Special(std::function<Status()> act) : act_(std::move(act)) {}
  Status call(const CallSite&, runtime::Arguments, std::span<const int64_t>) noexcept override {
    ++calls;
    return act_();
  }
  int calls = 0;

 private:
  std::function<Status()> act_;
};

TEST_F(Dispatch, AnAbandonedRunFreesTheVirtualMachine) {
  connect("add");
  const auto start = rpc::Clock::now();
  Special slow([] {
    std::this_thread::sleep_for(300ms);
    return Status();
  });
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &slow));
  EXPECT_EQ(fault_of(run(start + 100ms)), PlatformFault::kTimeout);
  EXPECT_EQ(slow.calls, 1) << "nothing continues the run after its deadline";
  std::atomic<bool> interrupt = false;
  Special interrupts([&] {
    interrupt = true;
    return Status();
  });
  remote_->set_interrupt(&interrupt);
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &interrupts));
  EXPECT_EQ(fault_of(run()), PlatformFault::kCancelled);
  remote_->set_interrupt(nullptr);
  // Also while the remote side computes: it reaches the dispatched call after the client has given
  // up.
  Special quick([] { return Status(); });
  device_->stop->launch_time = 200ms;
  ASSERT_TRUE(remote_->set_dispatch(kLast, &quick));
  EXPECT_EQ(fault_of(run(rpc::Clock::now() + 100ms)), PlatformFault::kTimeout);
  EXPECT_EQ(quick.calls, 0);
  device_->stop->launch_time = 0ms;
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &*offload_));
  expect_right();
}

// Each request has its own time limit, and local computation does not count for the VM.
TEST_F(Dispatch, TakesTheTimeOfItsRequests) {
  rpc::ConnectOptions options;
  options.request = 400ms;
  connect("add", options);
  Special slow([] {
    std::this_thread::sleep_for(250ms);
    return Status();
  });
  ASSERT_TRUE(remote_->set_dispatch(kAll, &slow));
  auto result = run();
  EXPECT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(slow.calls, 3);
  // One of them takes longer.
  device_->stop->launch_time = 600ms;
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &slow));
  EXPECT_EQ(fault_of(run()), PlatformFault::kTimeout);
}

TEST_F(Dispatch, NothingIsComputedForAnAbandonedRun) {
  connect("add");
  std::atomic<bool> interrupt = false;
  remote_->set_interrupt(&interrupt);
  device_->stop->launch_time = 100ms;
  Special quick([] { return Status(); });
  ASSERT_TRUE(remote_->set_dispatch(kLast, &quick));
  // The remote side reaches the dispatched call within the time that it has to answer a cancel.
  auto setter = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(150ms);
    interrupt = true;
  });
  EXPECT_EQ(fault_of(run()), PlatformFault::kCancelled);
  setter.get();
  EXPECT_EQ(quick.calls, 0);
  remote_->set_interrupt(nullptr);
  device_->stop->launch_time = 0ms;
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &*offload_));
  expect_right();
}

// More writes than a storage remembers: all of it then counts as written.
TEST_F(Dispatch, ManyWritesBetweenTwoCallsAreSeen) {
  connect("add");
  ASSERT_TRUE(remote_->set_dispatch({{1}}, &*offload_));
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> value = {static_cast<float>(i)};
    ASSERT_TRUE(remote_session_->write(runtime::kDefaultStream, {x_.storage->buffer(), 4},
                                       std::as_bytes(std::span(value))));
    x_.storage->written(4, 4);
    if (i % 40 != 39) continue;
    auto result = run();
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*result, (std::vector<float>{63, (static_cast<float>(i) + 40) * 3}));
  }
}

TEST_F(Dispatch, AResultGoesIntoTheNextRun) {
  connect();
  ASSERT_TRUE(remote_->set_dispatch(kAll, &*offload_));
  const std::vector<Value> args = {x_, y_};
  auto first = remote_->call("main", args);
  ASSERT_TRUE(first) << first.error().to_string();
  const int64_t copied = residency_->copies().to_target;
  const std::vector<Value> next = {*first->tensor(), y_};
  auto second = remote_->call_and_read("main", next, 0);
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(floats(second->bytes), (std::vector<float>{249, 498}));
  EXPECT_EQ(residency_->copies().to_target, copied) << "it was computed locally";
}

TEST_F(Dispatch, AVirtualMachineSuspendedForTooLongIsIdle) {
  rpc::ServerOptions options;
  options.open_device = [this](const std::string&) { return device_; };
  options.limits.idle = 1s;
  connect("add", {}, std::make_unique<MemoryServer>(std::move(options)));
  Special slow([] {
    std::this_thread::sleep_for(1500ms);
    return Status();
  });
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &slow));
  auto result = run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kLost);
  EXPECT_NE(result.error().message.find("idle for 1000 ms"), std::string::npos)
      << result.error().to_string();
}

// A failed write ends the run with an error, not with a different result.
TEST_F(Dispatch, AWriteThatIsRefusedEndsTheRun) {
  connect("add");
  uint64_t unknown = 0;
  Special writes([&]() -> Status {
    const runtime::BufferId buffer{remote_session_->new_handle()};
    unknown = static_cast<uint64_t>(buffer);
    TAPML_TRY(remote_session_->allocate(buffer, int64_t{1} << 50));
    return remote_session_->fill_zero(runtime::kDefaultStream, {buffer, 0}, 4);
  });
  ASSERT_TRUE(remote_->set_dispatch(kLast, &writes));
  auto result = run();
  ASSERT_FALSE(result);
  remote_session_->release(runtime::BufferId{unknown});
  ASSERT_TRUE(remote_->set_dispatch({}, nullptr));
  expect_right();
}

TEST_F(Dispatch, APlanNamesSites) {
  connect();
  for (const int32_t site : {-1, 3}) {
    const Status set = remote_->set_dispatch({{0, site}}, &*offload_);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().kind, ErrorKind::kUser);
    EXPECT_EQ(set.error().found, std::to_string(site));
  }
  std::vector<int32_t> sites(100'000, 1);
  sites[7] = 0;
  ASSERT_TRUE(remote_->set_dispatch({sites}, &*offload_));
  expect_right();
}

TEST_F(Dispatch, AClientThatLeavesWhileTheVirtualMachineIsSuspended) {
  connect();
  Special cut([&] {
    server_->cut();
    return Status();
  });
  ASSERT_TRUE(remote_->set_dispatch(kAdds, &cut));
  EXPECT_EQ(fault_of(run()), PlatformFault::kLost);
  remote_.reset();
  x_ = y_ = {};
  remote_session_.reset();
  std::ignore = server_->join();
  EXPECT_EQ(device_->live_bytes(), 0);
}

}  // namespace
}  // namespace tapml::test
