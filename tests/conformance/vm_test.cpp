// The virtual machine and hybrid runs on each platform.
#include "conformance/platforms.h"
#include "conformance/programs.h"
#include "device/cpu/cpu_device.h"
#include "device/null/null_device.h"
#include "runtime/local_virtual_machine.h"
#include "runtime/offload.h"

namespace tapml::test {
namespace {

using runtime::CallSite;
using runtime::KernelRunner;
using runtime::LocalSession;
using runtime::LocalVirtualMachine;
using runtime::Offload;
using runtime::Residency;
using runtime::Session;
using runtime::Value;

using VmConformance = Conformance;
TAPML_CONFORMANCE(VmConformance);

std::vector<float> call(LocalVirtualMachine& vm, const std::vector<float>& x,
                        const std::vector<float>& y) {
  std::vector<Value> args = {*runtime::upload(vm.session(), f32(x)),
                             *runtime::upload(vm.session(), f32(y))};
  auto result = vm.call("main", args);
  EXPECT_TRUE(result) << result.error().to_string();
  if (!result) return {};
  auto host = runtime::download(*result->tensor());
  EXPECT_TRUE(host) << host.error().to_string();
  return host ? floats(*host) : std::vector<float>{};
}

TEST_P(VmConformance, RunsAProgramForSeveralSizes) {
  auto vm = LocalVirtualMachine::create(session(), share(chain_program(GetParam().module())));
  ASSERT_TRUE(vm) << vm.error().to_string();
  for (size_t n : {1, 2, 31, 32, 33, 1000}) {
    std::vector<float> x(n), y(n), expected(n);
    for (size_t i = 0; i < n; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = 0.25f;
      expected[i] = 3 * (x[i] + 2 * y[i]);
    }
    std::vector<float> result = call(**vm, x, y);
    if (computes()) {
      EXPECT_EQ(result, expected) << "n = " << n;
    } else {
      EXPECT_EQ(result.size(), n);
    }
  }
}

TEST_P(VmConformance, HybridWithACpuThatMustNotCompute) {
  if (!computes()) GTEST_SKIP() << "computes nothing";
  auto cpu = std::make_shared<device::CpuDevice>(1, std::make_shared<NativeLoader>());
  auto source = std::move(*LocalSession::create(cpu));
  auto vm = LocalVirtualMachine::create(*source, share(chain_program(native_blob(), "sentinel")));
  auto target = KernelRunner::create(session(), share(kernels_only(GetParam().module())));
  ASSERT_TRUE(vm && target);
  Residency residency(session());
  Offload offload(**target, residency);
  ASSERT_TRUE((*vm)->set_dispatch({{0, 1}}, &offload));  // both calls of add
  EXPECT_EQ(call(**vm, {1, 2}, {10, 20}), (std::vector<float>{63, 126}));
  EXPECT_EQ(offload.calls(), 2);
  ASSERT_TRUE((*vm)->set_dispatch({{0, 1, 2}}, &offload));
  EXPECT_EQ(call(**vm, {1, 2}, {10, 20}), (std::vector<float>{63, 126}));
  EXPECT_EQ(offload.calls(), 5);
}

TEST(VmOnNull, CountsTheRequestsOfAModel) {
  auto null = std::make_shared<device::NullDevice>();
  auto session = std::move(*LocalSession::create(null));
  auto vm = LocalVirtualMachine::create(*session, share(chain_program(native_blob("null"))));
  ASSERT_TRUE(vm);
  std::vector<Value> args = {*runtime::upload(*session, f32({1, 2})),
                             *runtime::upload(*session, f32({1, 2}))};
  ASSERT_TRUE((*vm)->call("main", args));
  int64_t allocations = null->counts().allocations;
  EXPECT_EQ(allocations, 4);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*vm)->call("main", args));
  EXPECT_EQ(null->counts().allocations, allocations);
  EXPECT_EQ(null->counts().launches, 33);
  EXPECT_EQ(null->counts().synchronizes, 0);
  EXPECT_EQ(null->counts().reads, 0);
}

}  // namespace
}  // namespace tapml::test
