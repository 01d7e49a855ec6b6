// Abandoned requests of every kind: they end in time and leave nothing, and the session continues.
#include <gtest/gtest.h>

#include <functional>
#include <future>

#include "conformance/programs.h"
#include "rpc/session/client_session.h"
#include "rpc/session/polled_link.h"
#include "slow_device.h"
#include "small_program.h"
#include "support/expect_error.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using namespace std::chrono_literals;
using runtime::BufferId;
using runtime::Deadline;
using runtime::kDefaultStream;
using runtime::KernelId;
using runtime::ModuleId;
using runtime::Value;
using testing::fault_of;
using testing::MemoryServer;
using At = Stop::At;

constexpr auto kTime = 100ms;
// Extra time for a busy computer.
constexpr auto kSlack = 500ms;
constexpr size_t kHandles = 24;

// sum(x, y) -> x + y, in a fresh tensor. many(x, y, z): z = x + y, 64 times.
Executable adding_program() {
  Executable program = chain_program(native_blob());
  using Op = Opcode;
  VmFunction sum;
  sum.name = "sum";
  sum.params = {"x", "y"};
  sum.registers = 4;
  sum.slots = 1;
  sum.programs = {slot(0), affine(0, 4)};
  sum.layouts = {{DType::kF32, {0}}};
  sum.checks = {vector_check("parameter x of sum", {0, {}, "n"})};
  sum.code = {{Op::kCheck, 0, 0},
              {Op::kAllocStorage, 2, 1},
              {Op::kMakeTensor, 3, 2, 0},
              {Op::kCallKernel, 0, 0, 0, {0, 1, 3}, {0}},
              {Op::kReturn, 3}};
  VmFunction many = sum;
  many.name = "many";
  many.params = {"x", "y", "z"};
  many.checks = {vector_check("parameter x of many", {0, {}, "n"})};
  many.code = {{Op::kCheck, 0, 0}};
  for (int i = 0; i < 64; ++i) many.code.push_back({Op::kCallKernel, 0, 0, 0, {0, 1, 2}, {0}});
  many.code.push_back({Op::kReturn, 2});
  program.functions.push_back(std::move(sum));
  program.functions.push_back(std::move(many));
  return program;
}

class GiveUp : public ::testing::Test {
 protected:
  void connect(const rpc::ConnectOptions& connect = {}) {
    rpc::ServerOptions options;
    options.limits.handles = kHandles;
    options.open_device = [this](const std::string&) { return device_; };
    options.open_contents = [this] { return std::make_unique<SlowContents>(device_->stop); };
    server_ = std::make_unique<MemoryServer>(std::move(options));
    session_ = server_->connect(connect);
  }
  Stop& stop() { return *device_->stop; }
  Value tensor(std::vector<float> values) {
    return *runtime::upload(
        *session_, HostTensor::from<float>(DType::kF32, {static_cast<int64_t>(values.size())},
                                           std::span<const float>(values)));
  }
  std::unique_ptr<runtime::VirtualMachine> vm() {
    auto made = session_->open_vm(std::make_shared<const Executable>(adding_program()));
    EXPECT_TRUE(made) << made.error().to_string();
    return std::move(*made);
  }
  // The session has all its handles, and the device has no objects of the session.
  void expect_nothing_left() {
    const Status done = session_->synchronize(kDefaultStream, rpc::Clock::now() + 20s);
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_EQ(device_->live_bytes(), 0);
    EXPECT_EQ(stop().modules, 0);
    std::vector<BufferId> ids;
    for (size_t i = 0; i < kHandles; ++i) {
      ids.push_back(BufferId{session_->new_handle()});
      ASSERT_TRUE(session_->allocate(ids.back(), 4));
    }
    const Status all = session_->synchronize(kDefaultStream);
    EXPECT_TRUE(all) << all.error().to_string();
    const BufferId more{session_->new_handle()};
    ASSERT_TRUE(session_->allocate(more, 4));
    EXPECT_EQ(fault_of(session_->synchronize(kDefaultStream)), PlatformFault::kLimit);
    session_->release(more);
    for (const BufferId id : ids) session_->release(id);
    EXPECT_TRUE(session_->synchronize(kDefaultStream));
  }
  // `request` blocks at `at`, and still ends in time.
  void give_up(At at, const std::function<Status(const Deadline&)>& request, bool cancel) {
    std::atomic<bool> interrupt{false};
    if (cancel) session_->set_interrupt([&] { return interrupt.load(); });
    stop().at = at;
    const auto start = rpc::Clock::now();
    auto setter = std::async(std::launch::async, [&] {
      if (!cancel) return;
      std::this_thread::sleep_for(kTime);
      interrupt = true;
    });
    const Status status = request(cancel ? Deadline() : start + kTime);
    const auto took = rpc::Clock::now() - start;
    setter.get();
    EXPECT_EQ(fault_of(status), cancel ? PlatformFault::kCancelled : PlatformFault::kTimeout)
        << (status ? "it went well" : status.error().to_string());
    EXPECT_GE(took, kTime);
    EXPECT_LT(took, kTime + kSlack + (cancel ? rpc::ClientLink::kGrace : 0ms));
    if (cancel) {
      // Immediately, while the block lasts.
      EXPECT_EQ(fault_of(session_->synchronize(kDefaultStream)), PlatformFault::kCancelled);
      session_->set_interrupt({});
    }
    stop().at = At::kNowhere;
  }

  std::shared_ptr<SlowDevice> device_ = std::make_shared<SlowDevice>();
  std::unique_ptr<MemoryServer> server_;
  std::unique_ptr<rpc::RemoteSession> session_;
};

class GiveUpEach : public GiveUp, public ::testing::WithParamInterface<bool> {};

TEST_P(GiveUpEach, ALargeAllocation) {
  connect();
  const BufferId id{session_->new_handle()};
  constexpr int64_t kBytes = rpc::RemoteSession::kLargeAllocation;
  give_up(
      At::kAllocate, [&](const Deadline& by) { return session_->allocate(id, kBytes, by); },
      GetParam());
  expect_nothing_left();
  EXPECT_TRUE(session_->allocate(id, kBytes)) << "the name is free";
}

TEST_P(GiveUpEach, AModule) {
  connect();
  const ModuleId id{session_->new_handle()};
  give_up(
      At::kLoad, [&](const Deadline& by) { return session_->load_module(id, native_blob(), by); },
      GetParam());
  expect_nothing_left();
  EXPECT_TRUE(session_->load_module(id, native_blob())) << "the name is free";
}

TEST_P(GiveUpEach, TheLookupOfAModule) {
  connect();
  ModuleBlob blob = native_blob();
  blob.bytes.resize(rpc::kSmallContent);
  const ModuleId id{session_->new_handle()};
  give_up(
      At::kContents, [&](const Deadline& by) { return session_->load_module(id, blob, by); },
      GetParam());
  expect_nothing_left();
  EXPECT_EQ(stop().loads, 0);
}

TEST_P(GiveUpEach, AKernelThatItsModuleDoesNotList) {
  connect();
  ModuleBlob blob = native_blob();
  blob.entries.clear();
  const ModuleId module{session_->new_handle()};
  const KernelId id{session_->new_handle()};
  ASSERT_TRUE(session_->load_module(module, blob));
  give_up(
      At::kKernel, [&](const Deadline& by) { return session_->get_kernel(id, module, "fold", by); },
      GetParam());
  const KernelId other{session_->new_handle()};
  EXPECT_TRUE(session_->get_kernel(other, module, "fold"));
  session_->release_kernel(other);
  session_->unload_module(module);
  expect_nothing_left();
}

TEST_P(GiveUpEach, AVirtualMachine) {
  connect();
  const auto program = std::make_shared<const Executable>(adding_program());
  give_up(
      At::kLoad,
      [&](const Deadline& by) -> Status {
        TAPML_ASSIGN([[maybe_unused]] auto vm, session_->open_vm(program, by));
        return {};
      },
      GetParam());
  expect_nothing_left();
}

TEST_P(GiveUpEach, ACallWhoseResultComesLate) {
  connect();
  {
    auto vm = this->vm();
    const std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
    ASSERT_TRUE(session_->synchronize(kDefaultStream));
    give_up(
        At::kLaunch,
        [&](const Deadline& by) -> Status {
          TAPML_ASSIGN([[maybe_unused]] auto result, vm->call("sum", args, by));
          return {};
        },
        GetParam());
    auto read = vm->call_and_read("sum", args, 0);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(read->bytes.values<float>()[1], 22);
  }
  expect_nothing_left();
}

TEST_P(GiveUpEach, ACallThatWaitsForItsBytes) {
  connect();
  {
    auto vm = this->vm();
    const std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
    ASSERT_TRUE(session_->synchronize(kDefaultStream));
    give_up(
        At::kWait,
        [&](const Deadline& by) -> Status {
          TAPML_ASSIGN([[maybe_unused]] auto result, vm->call_and_read("sum", args, 0, by));
          return {};
        },
        GetParam());
  }
  expect_nothing_left();
}

TEST_P(GiveUpEach, ARead) {
  connect();
  {
    const Value value = tensor({1, 2});
    std::vector<float> back = {-1, -1};
    const auto read = [&](const Deadline& by) {
      return session_->read(kDefaultStream, {value.tensor()->storage->buffer(), 0},
                            std::as_writable_bytes(std::span(back)), by);
    };
    give_up(At::kWait, read, GetParam());
    EXPECT_EQ(back, (std::vector<float>{-1, -1}));
    EXPECT_TRUE(read({}));
    EXPECT_EQ(back, (std::vector<float>{1, 2}));
  }
  expect_nothing_left();
}

TEST_P(GiveUpEach, ASynchronization) {
  connect();
  give_up(
      At::kWait, [&](const Deadline& by) { return session_->synchronize(kDefaultStream, by); },
      GetParam());
  expect_nothing_left();
}

TEST_P(GiveUpEach, Weights) {
  connect();
  {
    std::vector<std::vector<std::byte>> bytes(5, std::vector<std::byte>(rpc::kSmallContent));
    std::vector<std::shared_ptr<runtime::Storage>> storages;
    std::vector<runtime::ContentWrite> contents;
    for (const auto& one : bytes) {
      storages.push_back(*runtime::Storage::allocate(*session_, static_cast<int64_t>(one.size())));
      contents.push_back({{storages.back()->buffer(), 0}, one});
    }
    give_up(
        At::kContents,
        [&](const Deadline& by) { return session_->write_contents(kDefaultStream, contents, by); },
        GetParam());
    const Status written = session_->write_contents(kDefaultStream, contents);
    EXPECT_TRUE(written) << written.error().to_string();
  }
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(By, GiveUpEach, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Cancel" : "Deadline"; });

TEST_F(GiveUp, TheTimeOfEveryRequestIsADefault) {
  rpc::ConnectOptions options;
  options.request = kTime;
  connect(options);
  stop().at = At::kWait;
  const auto start = rpc::Clock::now();
  EXPECT_EQ(fault_of(session_->synchronize(kDefaultStream)), PlatformFault::kTimeout);
  EXPECT_LT(rpc::Clock::now() - start, kTime + kSlack);
  // An explicit deadline has priority.
  std::thread opener([&] {
    std::this_thread::sleep_for(2 * kTime);
    stop().at = At::kNowhere;
  });
  EXPECT_TRUE(session_->synchronize(kDefaultStream, start + 20s));
  opener.join();
  expect_nothing_left();
}

TEST_F(GiveUp, AModuleThatWaitedTooLongIsNotCompiled) {
  connect();
  stop().at = At::kWait;
  auto busy = std::async(std::launch::async, [&] { return session_->synchronize(kDefaultStream); });
  std::this_thread::sleep_for(50ms);
  const ModuleId id{session_->new_handle()};
  EXPECT_EQ(fault_of(session_->load_module(id, native_blob(), rpc::Clock::now() + kTime)),
            PlatformFault::kTimeout);
  // The server counts from when it received the request.
  std::this_thread::sleep_for(kTime);
  stop().at = At::kNowhere;
  EXPECT_TRUE(busy.get());
  EXPECT_TRUE(session_->synchronize(kDefaultStream));
  EXPECT_EQ(stop().loads, 0);
  expect_nothing_left();
}

TEST_F(GiveUp, ARunEndsBetweenTwoKernels) {
  connect();
  auto vm = this->vm();
  const std::vector<Value> args = {tensor({1, 2}), tensor({10, 20}), tensor({0, 0})};
  stop().launch_time = 20ms;
  auto result = vm->call("many", args, rpc::Clock::now() + kTime);
  EXPECT_EQ(fault_of(result), PlatformFault::kTimeout);
  EXPECT_TRUE(session_->synchronize(kDefaultStream));
  EXPECT_GT(stop().launches, 0);
  EXPECT_LT(stop().launches, 32);
}

TEST_F(GiveUp, AServerOfOneThreadKeepsTheTime) {
  auto [there, here] = testing::memory_channels();
  rpc::ServerOptions options;
  options.open_device = [this](const std::string&) { return device_; };
  std::thread server([&, channel = there.get()] {
    rpc::PolledLink link(*channel, 2s);
    EXPECT_TRUE(rpc::serve_session_over(link, options));
  });
  {
    auto session = rpc::RemoteSession::connect(std::move(here), {});
    ASSERT_TRUE(session);
    auto vm = (*session)->open_vm(std::make_shared<const Executable>(small_program()));
    ASSERT_TRUE(vm);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(fault_of((*vm)->call("spin", {}, rpc::Clock::now() + kTime)),
                PlatformFault::kTimeout);
      // The server has ended the call itself: it does not read a cancel there.
      EXPECT_TRUE((*vm)->call("main", {}, rpc::Clock::now() + 20s));
    }
  }
  server.join();
}

}  // namespace
}  // namespace tapml::test
