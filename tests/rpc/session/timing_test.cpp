// Kernel calls of a VM beside a remote device are timed remotely.
#include "runtime/timing.h"

#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "runtime/capture.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"
#include "runtime/trace.h"
#include "slow_device.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using namespace std::chrono_literals;
using runtime::TimedCall;
using runtime::Value;
using testing::fault_of;
using testing::MemoryServer;

class Times final : public runtime::TimingSink {
 public:
  Status timed(const TimedCall& call) noexcept override {
    calls.push_back(call);
    return fails ? Status(fail(user_error("the disk is full", "a sink"))) : Status();
  }
  std::vector<TimedCall> calls;
  bool fails = false;
};

class Timing : public ::testing::Test {
 protected:
  Timing() {
    remote_session_ = server_.connect();
    local_session_ = std::move(*runtime::LocalSession::create(device_));
    const auto program = share(chain_program(native_blob()));
    remote_ = std::move(*remote_session_->open_vm(program));
    local_ = std::move(*local_session_->open_vm(program));
  }
  static Result<Value> run(runtime::VirtualMachine& vm, const std::vector<float>& x,
                           runtime::Deadline deadline = {}) {
    TAPML_ASSIGN(auto first, runtime::upload(vm.session(), f32(x)));
    TAPML_ASSIGN(auto second, runtime::upload(vm.session(), f32(x)));
    const std::vector<Value> args = {first, second};
    return vm.call("main", args, deadline);
  }

  std::shared_ptr<SlowDevice> device_ = std::make_shared<SlowDevice>();
  MemoryServer server_{device_};
  std::unique_ptr<rpc::RemoteSession> remote_session_;
  std::unique_ptr<runtime::LocalSession> local_session_;
  std::unique_ptr<runtime::VirtualMachine> remote_, local_;
};

TEST_F(Timing, ReportsTheKernelAndDurationOfEachCall) {
  device_->stop->launch_time = 2ms;
  for (runtime::VirtualMachine* vm : {local_.get(), remote_.get()}) {
    Times times;
    ASSERT_TRUE(vm->set_timing(&times));
    const int64_t waits = remote_session_->traffic().waits;
    const int64_t begin = runtime::trace_now();
    ASSERT_TRUE(run(*vm, {1, 2, 3}));
    ASSERT_TRUE(run(*vm, {1}));
    const int64_t end = runtime::trace_now();
    EXPECT_EQ(remote_session_->traffic().waits, waits + (vm == remote_.get() ? 2 : 0));
    ASSERT_EQ(times.calls.size(), 6U);
    for (size_t i = 0; i < 6; ++i) {
      const TimedCall& call = times.calls[i];
      EXPECT_EQ(call.site, static_cast<int32_t>(i % 3));
      EXPECT_EQ(call.sequence, static_cast<int64_t>(i));
      const int64_t extent = i < 3 ? 3 : 1;
      EXPECT_EQ(call.scalars,
                i % 3 == 2 ? (std::vector<int64_t>{extent, 3}) : (std::vector<int64_t>{extent}));
      EXPECT_GE(call.duration, 2'000'000);
      // On the local clock, up to the precision of the comparison of the two clocks.
      EXPECT_GE(call.start, begin - 5'000'000);
      EXPECT_LE(call.start + call.duration, end + 5'000'000);
      if (i == 0) continue;
      EXPECT_GE(call.start, times.calls[i - 1].start + times.calls[i - 1].duration);
    }
    ASSERT_TRUE(vm->set_timing(nullptr));
    ASSERT_TRUE(run(*vm, {1}));
    EXPECT_EQ(times.calls.size(), 6U);
  }
}

TEST_F(Timing, ManyCallsArriveInOrder) {
  Times times;
  ASSERT_TRUE(remote_->set_timing(&times));
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(run(*remote_, {1}));
  ASSERT_EQ(times.calls.size(), 1200U);
  for (size_t i = 0; i < times.calls.size(); ++i) {
    EXPECT_EQ(times.calls[i].sequence, static_cast<int64_t>(i));
  }
}

TEST_F(Timing, ReplacesACaptureAndViceVersa) {
  class Nothing final : public runtime::CaptureSink {
   public:
    bool has(const std::string&) noexcept override { return true; }
    Status content(const std::string&, const HostTensor&, bool) noexcept override { return {}; }
    Status call(runtime::CapturedCall) noexcept override {
      ++calls;
      return {};
    }
    int calls = 0;
  };
  for (runtime::VirtualMachine* vm : {local_.get(), remote_.get()}) {
    Times times;
    Nothing captured;
    ASSERT_TRUE(vm->set_capture({}, &captured));
    ASSERT_TRUE(vm->set_timing(&times));
    ASSERT_TRUE(run(*vm, {1}));
    EXPECT_EQ(captured.calls, 0);
    EXPECT_EQ(times.calls.size(), 3U);
    ASSERT_TRUE(vm->set_capture({}, &captured));
    static_cast<void>(run(*vm, {1}));  // the contents that this sink claims to have do not exist
    EXPECT_EQ(times.calls.size(), 3U);
    ASSERT_TRUE(vm->set_capture({}, nullptr));
  }
}

TEST_F(Timing, WhatASinkFailsWithIsTheCallsError) {
  Times times;
  times.fails = true;
  ASSERT_TRUE(remote_->set_timing(&times));
  auto result = run(*remote_, {1});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the disk is full");
  EXPECT_EQ(times.calls.size(), 1U) << "nothing more is given";
  times.fails = false;
  ASSERT_TRUE(run(*remote_, {1}));
  EXPECT_EQ(times.calls.size(), 4U);
}

TEST_F(Timing, AnAbandonedRunIsTimedAsFarAsItRan) {
  Times times;
  ASSERT_TRUE(remote_->set_timing(&times));
  device_->stop->launch_time = 100ms;
  EXPECT_EQ(fault_of(run(*remote_, {1}, rpc::Clock::now() + 150ms)), PlatformFault::kTimeout);
  device_->stop->launch_time = 0ms;
  times.calls.clear();
  ASSERT_TRUE(run(*remote_, {1}));
  EXPECT_EQ(times.calls.size(), 3U);
}

}  // namespace
}  // namespace tapml::test
