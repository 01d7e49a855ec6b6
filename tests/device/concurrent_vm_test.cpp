// VMs that run concurrently over one executable; also run under the thread sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "conformance/programs.h"
#include "device/cpu/cpu_device.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::test {
namespace {

using runtime::LocalSession;
using runtime::LocalVirtualMachine;
using runtime::Value;

constexpr int kThreads = 4;
constexpr int kRuns = 25;

std::shared_ptr<device::CpuDevice> cpu() {
  return std::make_shared<device::CpuDevice>(2, std::make_shared<NativeLoader>());
}

// Runs main(x, y) = 3 (x + 2 y) of the chain program for several sizes; counts wrong results.
int wrong_results(runtime::Session& session, LocalVirtualMachine& vm, int thread) {
  int wrong = 0;
  for (int run = 0; run < kRuns; ++run) {
    size_t n = static_cast<size_t>(1 + (run * 37 + thread * 11) % 200);
    auto value = static_cast<float>(thread * 1000 + run);
    auto x = runtime::upload(session, f32(std::vector<float>(n, value)));
    auto y = runtime::upload(session, f32(std::vector<float>(n, 1)));
    if (!x || !y) return kRuns;
    std::vector<Value> args = {*x, *y};
    auto result = vm.call("main", args);
    if (!result || !result->tensor()) {
      ++wrong;
      continue;
    }
    auto host = runtime::download(*result->tensor());
    wrong += !host || floats(*host) != std::vector<float>(n, 3 * (value + 2));
  }
  return wrong;
}

// Runs `work(thread)` in kThreads threads; returns the sum of the results.
template <class Work>
int in_threads(Work work) {
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { sum += work(i); });
  for (std::thread& thread : threads) thread.join();
  return sum;
}

TEST(ConcurrentVirtualMachines, ShareExecutableAndSession) {
  auto session = std::move(*LocalSession::create(cpu()));
  auto program = share(chain_program(native_blob()));
  EXPECT_EQ(in_threads([&](int thread) {
              auto vm = LocalVirtualMachine::create(*session, program);
              return vm ? wrong_results(*session, **vm, thread) : kRuns;
            }),
            0);
}

TEST(ConcurrentVirtualMachines, ShareExecutableAndDevice) {
  auto device = cpu();
  auto program = share(chain_program(native_blob()));
  EXPECT_EQ(in_threads([&](int thread) {
              auto session = LocalSession::create(device);
              if (!session) return kRuns;
              auto vm = LocalVirtualMachine::create(**session, program);
              return vm ? wrong_results(**session, **vm, thread) : kRuns;
            }),
            0);
}

// VMs are created and destroyed on a session while others run on it.
TEST(ConcurrentVirtualMachines, ComeAndGo) {
  auto session = std::move(*LocalSession::create(cpu()));
  auto program = share(chain_program(native_blob()));
  EXPECT_EQ(in_threads([&](int thread) {
              int failed = 0;
              for (int i = 0; i < 5; ++i) {
                auto vm = LocalVirtualMachine::create(*session, program);
                failed += vm ? wrong_results(*session, **vm, thread) : 1;
              }
              return failed;
            }),
            0);
}

// One thread may release handles while another launches with them: the launch either runs on memory
// that is kept alive or is refused.
TEST(ConcurrentVirtualMachines, BuffersMayGoWhileALaunchUsesThem) {
  auto session = std::move(*LocalSession::create(cpu()));
  ASSERT_TRUE(session->load_module(runtime::ModuleId{1}, native_blob()));
  ASSERT_TRUE(session->get_kernel(runtime::KernelId{1}, runtime::ModuleId{1}, "ramp"));
  constexpr uint64_t kBuffers = 200;
  for (uint64_t i = 0; i < kBuffers; ++i) {
    ASSERT_TRUE(session->allocate(runtime::BufferId{100 + i}, 256));
  }
  std::thread releaser([&] {
    for (uint64_t i = 0; i < kBuffers; ++i) session->release(runtime::BufferId{100 + i});
  });
  int ran = 0;
  for (uint64_t i = 0; i < kBuffers; ++i) {
    runtime::BufferRange range{runtime::BufferId{100 + i}, 0};
    int64_t scalars[] = {7, 64};
    ran += session
               ->launch(runtime::kDefaultStream,
                        runtime::LaunchRequest{runtime::KernelId{1}, std::span(&range, 1), scalars,
                                               64, 64})
               .has_value();
  }
  releaser.join();
  EXPECT_TRUE(session->synchronize(runtime::kDefaultStream));
  EXPECT_LE(ran, static_cast<int>(kBuffers));
}

}  // namespace
}  // namespace tapml::test
