// A VM beside a remote device captures the same as a local VM, and sends each content once.
#include "runtime/capture.h"

#include <gtest/gtest.h>

#include <future>

#include "conformance/programs.h"
#include "rpc/session/client_session.h"
#include "rpc/session/host/zstd.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"
#include "slow_device.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using namespace std::chrono_literals;
using runtime::CapturedCall;
using runtime::CapturePlan;
using runtime::Value;
using testing::fault_of;
using testing::MemoryServer;

// Keeps everything it receives.
class Record : public runtime::CaptureSink {
 public:
  bool has(const std::string& hash) noexcept override {
    return contents.contains(hash) || known.contains(hash);
  }
  Status content(const std::string& hash, const HostTensor& tensor, bool) noexcept override {
    given.push_back(hash);
    EXPECT_EQ(content_hash(tensor), hash);
    HostTensor copy = HostTensor::zeros(tensor.dtype(), tensor.shape());
    std::ranges::copy(tensor.bytes(), copy.mutable_bytes().begin());
    contents[hash] = copy;
    if (fails) return fail(user_error("the disk is full", "a sink"));
    return {};
  }
  Status call(CapturedCall call) noexcept override {
    for (const auto* hashes : {&call.before, &call.after}) {
      for (const std::string& hash : *hashes) EXPECT_TRUE(hash.empty() || has(hash)) << hash;
    }
    calls.push_back(std::move(call));
    return {};
  }
  std::vector<std::string> held() noexcept override { return {known.begin(), known.end()}; }
  std::vector<std::string> take_dropped() noexcept override { return std::exchange(dropped, {}); }

  std::map<std::string, HostTensor> contents;
  std::set<std::string> known;
  std::vector<std::string> given, dropped;
  std::vector<CapturedCall> calls;
  bool fails = false;
};

void expect_same(const Record& a, const Record& b) {
  ASSERT_EQ(a.calls.size(), b.calls.size());
  for (size_t i = 0; i < a.calls.size(); ++i) {
    const CapturedCall &x = a.calls[i], &y = b.calls[i];
    EXPECT_EQ(x.site, y.site) << i;
    EXPECT_EQ(x.sequence, y.sequence) << i;
    EXPECT_EQ(x.scalars, y.scalars) << i;
    EXPECT_EQ(x.kept, y.kept) << i;
    EXPECT_EQ(x.before, y.before) << i;
    EXPECT_EQ(x.after, y.after) << i;
    EXPECT_EQ(x.nan_before, y.nan_before) << i;
    EXPECT_EQ(x.nan_after, y.nan_after) << i;
  }
  EXPECT_EQ(a.given, b.given);
}

class Capture : public ::testing::Test {
 protected:
  void connect(const rpc::ConnectOptions& connect = {}, bool zstd = false) {
    rpc::ServerOptions options;
    options.open_device = [this](const std::string&) { return device_; };
    if (zstd) {
      options.compressor = rpc::make_zstd();
      options.compression = rpc::Compression::kAlways;
    }
    server_ = std::make_unique<MemoryServer>(std::move(options));
    remote_session_ = server_->connect(connect);
    local_session_ = std::move(*runtime::LocalSession::create(device_));
    const auto program = share(chain_program(native_blob()));
    remote_ = std::move(*remote_session_->open_vm(program));
    local_ = std::move(*local_session_->open_vm(program));
  }
  static Result<Value> run(runtime::VirtualMachine& vm, const std::vector<float>& x,
                           const std::vector<float>& y, runtime::Deadline deadline = {}) {
    TAPML_ASSIGN(auto first, runtime::upload(vm.session(), f32(x)));
    TAPML_ASSIGN(auto second, runtime::upload(vm.session(), f32(y)));
    const std::vector<Value> args = {first, second};
    return vm.call("main", args, deadline);
  }

  std::shared_ptr<SlowDevice> device_ = std::make_shared<SlowDevice>();
  std::unique_ptr<MemoryServer> server_;
  std::unique_ptr<rpc::RemoteSession> remote_session_;
  std::unique_ptr<runtime::LocalSession> local_session_;
  std::unique_ptr<runtime::VirtualMachine> remote_, local_;
};

TEST_F(Capture, IsTheSameLocallyAndRemotely) {
  connect();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const CapturePlan& plan :
       {CapturePlan{}, CapturePlan{{kScale}, 0}, CapturePlan{{}, 1}, CapturePlan{{kAdd}, 2}}) {
    Record here, there;
    ASSERT_TRUE(local_->set_capture(plan, &here));
    ASSERT_TRUE(remote_->set_capture(plan, &there));
    const int64_t waits = remote_session_->traffic().waits;
    for (const std::vector<float>& x : {std::vector<float>{1, 2}, {1, 2}, {3, 4, 5}, {1, nan}}) {
      ASSERT_TRUE(run(*local_, x, std::vector<float>(x.size(), 7)));
      ASSERT_TRUE(run(*remote_, x, std::vector<float>(x.size(), 7)));
    }
    EXPECT_EQ(remote_session_->traffic().waits, waits + 4) << "one request a run";
    ASSERT_FALSE(here.calls.empty());
    expect_same(here, there);
    EXPECT_TRUE(here.calls.back().nan_after.back());
    // Each content once.
    EXPECT_EQ(there.given.size(), there.contents.size());
  }
  Record none;
  ASSERT_TRUE(remote_->set_capture({}, &none));
  ASSERT_TRUE(remote_->set_capture({}, nullptr));
  ASSERT_TRUE(run(*remote_, {1}, {2}));
  EXPECT_TRUE(none.calls.empty() && none.given.empty());
}

TEST_F(Capture, SeesWritesBetweenRuns) {
  connect();
  Record here, there;
  for (auto* vm : {local_.get(), remote_.get()}) {
    Record& sink = vm == local_.get() ? here : there;
    ASSERT_TRUE(vm->set_capture({}, &sink));
    runtime::Session& session = vm->session();
    auto x = *runtime::upload(session, f32({1, 2})), y = *runtime::upload(session, f32({3, 4}));
    const std::vector<Value> args = {x, y};
    const runtime::BufferRange to{x.storage->buffer(), 0};
    const auto run = [&](const Status& written) {
      ASSERT_TRUE(written);
      x.storage->written();
      ASSERT_TRUE(vm->call("main", args));
    };
    run({});
    run(session.write(runtime::kDefaultStream, to, f32({5, 6}).bytes()));
    run(session.fill_zero(runtime::kDefaultStream, to, 8));
    run(session.copy(runtime::kDefaultStream, {y.storage->buffer(), 0}, to, 8));
  }
  ASSERT_EQ(there.calls.size(), 12U);
  EXPECT_EQ(there.calls[3].before[0], content_hash(f32({5, 6})));
  EXPECT_EQ(there.calls[6].before[0], content_hash(f32({0, 0})));
  EXPECT_EQ(there.calls[9].before[0], content_hash(f32({3, 4})));
  expect_same(here, there);
}

TEST_F(Capture, LocalContentsAreNotSent) {
  connect();
  Record there;
  const std::string y = content_hash(f32({7, 7}));
  there.known = {y};
  ASSERT_TRUE(remote_->set_capture({}, &there));
  ASSERT_TRUE(run(*remote_, {1, 2}, {7, 7}));
  EXPECT_FALSE(there.contents.contains(y));
  EXPECT_EQ(there.calls[0].before[1], y);
  const size_t given = there.given.size();
  ASSERT_TRUE(run(*remote_, {1, 2}, {7, 7}));
  EXPECT_EQ(there.given.size(), given);
  // A released content is sent again, and nothing else.
  const std::string x = content_hash(f32({1, 2}));
  there.contents.erase(x);
  there.dropped = {x};
  ASSERT_TRUE(run(*remote_, {1, 2}, {7, 7}));
  EXPECT_EQ(there.given.size(), given + 1);
  EXPECT_EQ(there.given.back(), x);
}

TEST_F(Capture, LargeContentsComeInPartsPackedAndNot) {
  for (const bool zstd : {false, true}) {
    rpc::ConnectOptions options;
    if (zstd) options.compressor = rpc::make_zstd();
    connect(options, zstd);
    const std::vector<float> x(3 * rpc::kPartBytes / 4 - 5, 3), y(x.size(), 4);
    Record here, there;
    ASSERT_TRUE(local_->set_capture({}, &here));
    ASSERT_TRUE(remote_->set_capture({}, &there));
    ASSERT_TRUE(run(*local_, x, y));
    const int64_t before = remote_session_->traffic().bytes_received;
    ASSERT_TRUE(run(*remote_, x, y));
    const int64_t came = remote_session_->traffic().bytes_received - before;
    EXPECT_EQ(came < static_cast<int64_t>(rpc::kPartBytes), zstd) << came;
    expect_same(here, there);
    remote_.reset();
    local_.reset();
    remote_session_.reset();
  }
}

TEST_F(Capture, WhatASinkFailsWithIsTheCallsError) {
  connect();
  Record there;
  ASSERT_TRUE(remote_->set_capture({}, &there));
  there.fails = true;
  auto result = run(*remote_, {1, 2}, {3, 4});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the disk is full");
  EXPECT_EQ(there.given.size(), 1U) << "nothing more is given";
  // The client no longer knows what it received: captures start from scratch.
  there = {};
  ASSERT_TRUE(run(*remote_, {1, 2}, {3, 4}));
  EXPECT_EQ(there.calls.size(), 3U);
  EXPECT_EQ(there.given.size(), there.contents.size());
}

// Also if the run is over by then: its remote results are released.
TEST_F(Capture, ARunWhoseSinkFailsLeavesNothing) {
  connect();
  class Late final : public Record {
   public:
    Status call(CapturedCall call) noexcept override {
      TAPML_TRY(Record::call(std::move(call)));
      return calls.size() % 3 == 0 ? Status(fail(user_error("the disk is full", "a sink")))
                                   : Status();
    }
  };
  Late there;
  ASSERT_TRUE(remote_->set_capture({}, &there));
  EXPECT_FALSE(run(*remote_, {1, 2}, {3, 4}));
  EXPECT_TRUE(remote_session_->synchronize(runtime::kDefaultStream));
  const int64_t live = device_->live_bytes();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(run(*remote_, {1, 2}, {3, 4}));
  EXPECT_TRUE(remote_session_->synchronize(runtime::kDefaultStream));
  EXPECT_EQ(device_->live_bytes(), live);
}

TEST_F(Capture, IsGivenUpInTimeAndBeginsAnew) {
  connect();
  Record there;
  ASSERT_TRUE(remote_->set_capture({}, &there));
  device_->stop->launch_time = 100ms;
  const auto start = rpc::Clock::now();
  EXPECT_EQ(fault_of(run(*remote_, {1, 2}, {3, 4}, start + 150ms)), PlatformFault::kTimeout);
  EXPECT_LT(rpc::Clock::now() - start, 650ms);
  device_->stop->launch_time = 0ms;
  there = {};
  auto result = run(*remote_, {1, 2}, {3, 4});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(there.calls.size(), 3U);
}

TEST_F(Capture, RefusesInvalidPlans) {
  connect();
  Record sink;
  for (runtime::VirtualMachine* vm : {local_.get(), remote_.get()}) {
    for (const CapturePlan& plan :
         {CapturePlan{{-1}, 0}, CapturePlan{{99}, 0}, CapturePlan{{}, -1}}) {
      const Status set = vm->set_capture(plan, &sink);
      ASSERT_FALSE(set);
      EXPECT_EQ(set.error().kind, ErrorKind::kUser);
    }
    EXPECT_TRUE(run(*vm, {1}, {2}));
  }
  EXPECT_TRUE(sink.calls.empty());
}

}  // namespace
}  // namespace tapml::test
