// VMs beside a remote device, and the local virtual machine over a remote session.
#include <gtest/gtest.h>

#include <atomic>

#include "conformance/programs.h"
#include "native_device.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"
#include "slow_device.h"
#include "support/memory_channel.h"

namespace tapml::test {
namespace {

using namespace std::chrono_literals;
using runtime::Prim;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueList;
using runtime::VirtualMachine;
using testing::MemoryServer;

// spin(): calls itself forever. swap(x, y) -> (y, x, (x, shape, prim)).
// twice(x): doubles x in place.
Executable odd_program() {
  Executable program = chain_program(native_blob());
  using Op = Opcode;
  VmFunction spin;
  spin.name = "spin";
  spin.registers = 1;
  spin.code = {{Op::kCallFunction, 0, 1, kTailCall, {}, {}}, {Op::kReturn, 0}};
  VmFunction swap;
  swap.name = "swap";
  swap.params = {"x", "y"};
  swap.registers = 6;
  swap.programs = {constant(7)};
  swap.code = {{Op::kMakeShape, 2, 0, 0, {0, 0}},
               {Op::kMakePrim, 3, 0, static_cast<int32_t>(DType::kI64)},
               {Op::kMakeTuple, 4, 0, 0, {0, 2, 3}},
               {Op::kMakeTuple, 5, 0, 0, {1, 0, 4}},
               {Op::kReturn, 5}};
  VmFunction scale;
  scale.name = "twice";
  scale.params = {"x"};
  scale.registers = 1;
  scale.slots = 1;
  scale.programs = {slot(0), constant(2)};
  scale.checks = {vector_check("parameter x of twice", {0, {}, "n"})};
  scale.code = {{Op::kCheck, 0, 0}, {Op::kCallKernel, 2, 0, 0, {0}, {0, 1}}, {Op::kReturn, 0}};
  VmFunction curry;
  curry.name = "curry";
  curry.params = {"x"};
  curry.registers = 2;
  curry.code = {{Op::kMakeClosure, 1, 0, 0, {0}}, {Op::kReturn, 1}};
  for (VmFunction* function : {&spin, &swap, &scale, &curry}) {
    program.functions.push_back(std::move(*function));
  }
  return program;
}

class RemoteVm : public ::testing::Test {
 protected:
  RemoteVm() : server_(native_device()), session_(server_.connect()) {}

  std::unique_ptr<VirtualMachine> open(Executable program) {
    auto vm = session_->open_vm(share(std::move(program)));
    EXPECT_TRUE(vm) << vm.error().to_string();
    return vm ? std::move(*vm) : nullptr;
  }
  Tensor tensor(std::vector<float> values) {
    return *runtime::upload(*session_, f32(std::move(values)));
  }
  static std::vector<float> values(const Value& value) {
    auto host = runtime::download(*value.tensor());
    EXPECT_TRUE(host) << host.error().to_string();
    return host ? floats(*host) : std::vector<float>{};
  }

  MemoryServer server_;
  std::unique_ptr<rpc::RemoteSession> session_;
};

TEST_F(RemoteVm, ACallIsOneWait) {
  auto vm = open(odd_program());
  EXPECT_EQ(&vm->session(), session_.get());
  for (int i = 0; i < 50; ++i) {
    const int64_t before = session_->traffic().waits;
    const std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
    auto result = vm->call("main", args);
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(session_->traffic().waits, before + 1);
    EXPECT_EQ(values(*result), (std::vector<float>{63, 126}));
    EXPECT_EQ(session_->traffic().waits, before + 2);
  }
}

TEST_F(RemoteVm, ResultsShareTheStorageOfArguments) {
  auto vm = open(odd_program());
  const std::vector<Value> args = {tensor({1, 2}), tensor({3})};
  auto result = vm->call("swap", args);
  ASSERT_TRUE(result) << result.error().to_string();
  const ValueList& fields = *result->tuple();
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].tensor()->storage, args[1].tensor()->storage);
  EXPECT_EQ(fields[1].tensor()->storage, args[0].tensor()->storage);
  const ValueList& inner = *fields[2].tuple();
  EXPECT_EQ(inner[0].tensor()->storage, args[0].tensor()->storage);
  EXPECT_EQ(*inner[1].shape(), (Shape{7, 7}));
  EXPECT_EQ(*inner[2].prim(), (Prim{DType::kI64, 7}));
  EXPECT_EQ(fields.nesting, 2);

  const uint64_t version = args[0].tensor()->storage->version();
  auto in_place = vm->call("twice", std::span(args).first(1));
  ASSERT_TRUE(in_place) << in_place.error().to_string();
  EXPECT_EQ(in_place->tensor()->storage, args[0].tensor()->storage);
  EXPECT_TRUE(args[0].tensor()->storage->written_since(version, 0, 8));
  EXPECT_EQ(values(args[0]), (std::vector<float>{2, 4}));
}

TEST_F(RemoteVm, ResultsAreReleased) {
  rpc::ServerOptions options;
  options.limits.handles = 40;
  auto device = native_device();
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  auto session = server.connect();
  auto vm = session->open_vm(share(odd_program()));
  ASSERT_TRUE(vm);
  for (int i = 0; i < 200; ++i) {
    const std::vector<Value> args = {*runtime::upload(*session, f32({1, 2})),
                                     *runtime::upload(*session, f32({10, 20}))};
    auto result = (*vm)->call("main", args);
    ASSERT_TRUE(result) << i << ": " << result.error().to_string();
  }
}

TEST_F(RemoteVm, VirtualMachinesReleaseTheirKernels) {
  rpc::ServerOptions options;
  options.limits.handles = 40;
  auto device = native_device();
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  auto session = server.connect();
  for (int i = 0; i < 50; ++i) {
    auto vm = session->open_vm(share(odd_program()));
    ASSERT_TRUE(vm) << i << ": " << vm.error().to_string();
    // The local VM requests each of its kernels separately.
    auto here = runtime::LocalVirtualMachine::create(*session, share(odd_program()));
    ASSERT_TRUE(here) << i << ": " << here.error().to_string();
  }
  const Status done = session->synchronize(runtime::kDefaultStream);
  EXPECT_TRUE(done) << done.error().to_string();
}

TEST_F(RemoteVm, ErrorsAreThoseOfALocalVirtualMachine) {
  auto device = native_device();
  auto home = std::move(*runtime::LocalSession::create(device));
  auto local = std::move(*home->open_vm(share(odd_program())));
  auto remote = open(odd_program());
  auto error_of = [](VirtualMachine& vm, const char* function,
                     const std::vector<std::vector<float>>& args) {
    std::vector<Value> values;
    for (const auto& arg : args) values.emplace_back(*runtime::upload(vm.session(), f32(arg)));
    auto result = vm.call(function, values);
    EXPECT_FALSE(result);
    return result ? std::string() : result.error().to_string();
  };
  EXPECT_EQ(error_of(*remote, "main", {{1, 2}, {1, 2, 3}}),
            error_of(*local, "main", {{1, 2}, {1, 2, 3}}));
  EXPECT_EQ(error_of(*remote, "main", {{1, 2}}), error_of(*local, "main", {{1, 2}}));
  EXPECT_EQ(error_of(*remote, "mein", {}), error_of(*local, "mein", {}));
  const std::vector<Value> foreign = {*runtime::upload(*home, f32({1})),
                                      *runtime::upload(*home, f32({1}))};
  auto refused = remote->call("main", foreign);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUser);
  // The VM continues.
  const std::vector<Value> args = {tensor({1}), tensor({1})};
  EXPECT_TRUE(remote->call("main", args));
}

TEST_F(RemoteVm, FunctionValuesCannotBeSent) {
  auto vm = open(odd_program());
  const std::vector<Value> args = {tensor({1})};
  auto result = vm->call("curry", args);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  EXPECT_NE(result.error().to_string().find("function value"), std::string::npos);
  VmFunction function;
  auto closure = std::make_shared<runtime::Closure>();
  closure->function = &function;
  Value value;
  value.data = std::shared_ptr<const runtime::Closure>(closure);
  result = vm->call("twice", std::span(&value, 1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUser);
  EXPECT_TRUE(vm->call("twice", args)) << "the session works on";
}

TEST_F(RemoteVm, PackedFunctionsAreRefused) {
  Executable program = odd_program();
  program.packed = {"note"};
  auto vm = session_->open_vm(share(std::move(program)));
  ASSERT_FALSE(vm);
  EXPECT_EQ(vm.error().kind, ErrorKind::kUser);
  EXPECT_NE(vm.error().to_string().find("note"), std::string::npos);
}

TEST_F(RemoteVm, AFailedArgumentIsTheCallsError) {
  rpc::ServerOptions options;
  options.limits.memory_bytes = 1 << 20;
  auto device = native_device();
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  auto session = server.connect();
  auto vm = std::move(*session->open_vm(share(odd_program())));
  {
    const std::vector<Value> args = {*runtime::make_tensor(*session, DType::kF32, {1 << 20})};
    auto result = vm->call("twice", args);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, PlatformFault::kOutOfMemory);
  }
  const std::vector<Value> args = {*runtime::upload(*session, f32({4}))};
  auto result = vm->call("twice", args);
  ASSERT_TRUE(result) << result.error().to_string();
}

TEST_F(RemoteVm, ACallIsCancelled) {
  auto vm = open(odd_program());
  std::atomic<bool> interrupt{false};
  vm->set_interrupt(&interrupt);
  std::thread setter([&] {
    std::this_thread::sleep_for(100ms);
    interrupt = true;
  });
  auto result = vm->call("spin", {});
  setter.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kCancelled);
  EXPECT_NE(result.error().where.find("spin"), std::string::npos) << result.error().to_string();
  result = vm->call("spin", {});
  ASSERT_FALSE(result) << "the flag is still set";
  EXPECT_EQ(result.error().fault, PlatformFault::kCancelled);
  interrupt = false;
  const std::vector<Value> args = {tensor({1})};
  EXPECT_TRUE(vm->call("twice", args));
}

TEST_F(RemoteVm, AClientThatVanishesEndsItsCall) {
  rpc::ServerOptions options;
  options.limits.idle = 600s;
  auto device = native_device();
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  rpc::ConnectOptions connect;
  connect.silence = 300ms;
  {
    // The wait ends when the client vanishes: the channel closes with the session while the call
    // still runs.
    auto session = server.connect(connect);
    auto vm = std::move(*session->open_vm(share(odd_program())));
    EXPECT_FALSE(vm->call("spin", {}));
  }
  EXPECT_TRUE(server.join());
}

TEST_F(RemoteVm, ALocalVirtualMachineOverARemoteSession) {
  auto vm = runtime::LocalVirtualMachine::create(*session_, share(odd_program()));
  ASSERT_TRUE(vm) << vm.error().to_string();
  const int64_t before = session_->traffic().waits;
  const std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
  auto result = (*vm)->call("main", args);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(session_->traffic().waits, before) << "kernels are only enqueued";
  EXPECT_EQ(values(*result), (std::vector<float>{63, 126}));
}

// Heartbeats carry the number of kernel calls launched so far to whoever waits for the call.
TEST(RemoteVmProgress, ReportsModulesAndCalls) {
  auto device = std::make_shared<SlowDevice>();
  rpc::ServerOptions options;
  options.limits.heartbeat = 10ms;
  options.open_device = [device](const std::string&) { return device; };
  MemoryServer server(options);
  auto session = server.connect();
  std::vector<std::pair<int64_t, int64_t>> loaded;
  session->set_watcher([&](const Work& work) {
    if (work.what == "load") loaded.emplace_back(work.done, work.total);
  });
  auto vm = session->open_vm(share(chain_program(native_blob())));
  ASSERT_TRUE(vm) << vm.error().to_string();
  ASSERT_GE(loaded.size(), 2u);
  EXPECT_EQ(loaded.front().first, 0);
  EXPECT_EQ(loaded.back().first, loaded.back().second);

  device->stop->launch_time = 100ms;
  std::vector<int64_t> launched;
  (*vm)->set_call_watcher([&](int64_t calls) { launched.push_back(calls); });
  const std::vector<Value> args = {*runtime::upload(*session, f32({1, 2})),
                                   *runtime::upload(*session, f32({10, 20}))};
  auto result = (*vm)->call("main", args);
  ASSERT_TRUE(result) << result.error().to_string();
  ASSERT_FALSE(launched.empty());
  EXPECT_TRUE(std::ranges::is_sorted(launched));
  EXPECT_GE(launched.back(), 1);
  (*vm)->set_call_watcher({});
  launched.clear();
  ASSERT_TRUE((*vm)->call("main", args));
  EXPECT_TRUE(launched.empty());
}

}  // namespace
}  // namespace tapml::test
