// The cost of a call in the steady state: no heap allocation, and no request to the device other
// than launches.
#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "device/allocations.h"
#include "device/null/null_device.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::test {
namespace {

using runtime::Value;
using Op = Opcode;

constexpr int kCalls = 40;

// inner(x, y): kCalls times add into one of two tensors in turn, then a workspace and a scalar
// beyond a slot. main(x, y): inner(inner(x, y), y), with a view in between.
Executable steady_program() {
  Executable program = kernels_only(native_blob());
  VmFunction inner;
  inner.name = "inner";
  inner.params = {"x", "y"};
  inner.registers = 6;
  inner.slots = 2;
  inner.programs = {slot(0), affine(0, 4), constant(3), affine(0, 1)};
  inner.layouts = {{DType::kF32, {0}}};
  inner.checks = {vector_check("parameter x of inner", {0, {}, "n"}),
                  vector_check("parameter y of inner", {-1, slot(0), "n"})};
  inner.code = {{Op::kCheck, 0, 0}, {Op::kCheck, 1, 1}, {Op::kComputeSlot, 1, 3}};
  for (int32_t storage : {2, 4}) {
    inner.code.push_back({Op::kAllocStorage, storage, 1});
    inner.code.push_back({Op::kMakeTensor, storage + 1, storage, 0});
  }
  int32_t from = 0;
  for (int32_t i = 0; i < kCalls; ++i) {
    int32_t to = i % 2 == 0 ? 3 : 5;
    program.call_sites.push_back({i % 8 == 7 ? kTwice : kAdd, "inner", {"model.layers.0"}});
    inner.code.push_back({Op::kMakeTensor, to, to - 1, 0});
    inner.code.push_back({Op::kCallKernel, i, 0, 0, {from, 1, to}, {0}});
    from = to;
  }
  program.call_sites.push_back({kScale, "inner", {"model.norm"}});
  inner.code.push_back({Op::kCallKernel, kCalls, 0, 0, {from}, {3, 2}});
  inner.code.push_back({Op::kReturn, from});

  VmFunction main;
  main.name = "main";
  main.params = {"x", "y"};
  main.registers = 5;
  main.slots = 1;
  main.programs = {slot(0)};
  main.layouts = {{DType::kF32, {0}}};
  main.checks = {vector_check("parameter x of main", {0, {}, "n"})};
  main.code = {{Op::kCheck, 0, 0}, {Op::kCallFunction, 2, 0, 0, {0, 1}}, {Op::kView, 3, 2, 0},
               {Op::kRelease, 2},  {Op::kCallFunction, 4, 0, 0, {3, 1}}, {Op::kReturn, 4}};
  program.functions = {std::move(inner), std::move(main)};
  return program;
}

TEST(SteadyState, CallsDoNotAllocate) {
  auto device = std::make_shared<device::NullDevice>();
  auto session = std::move(*runtime::LocalSession::create(device));
  auto made = runtime::LocalVirtualMachine::create(*session, share(steady_program()));
  ASSERT_TRUE(made) << made.error().to_string();
  runtime::LocalVirtualMachine& vm = **made;
  std::vector<Value> args = {*runtime::upload(*session, f32({1, 2, 3})),
                             *runtime::upload(*session, f32({4, 5, 6}))};
  Value last;
  auto once = [&] {
    auto result = vm.call("main", args);
    ASSERT_TRUE(result) << result.error().to_string();
    last = std::move(*result);
  };
  for (int i = 0; i < 4; ++i) once();
  int64_t memory = device->counts().allocations, launches = device->counts().launches;
  int64_t heap = allocation_count;
  constexpr int kRuns = 20;
  for (int i = 0; i < kRuns; ++i) once();
  if (counts_allocations) {
    EXPECT_EQ(allocation_count - heap, 0);
  }
  EXPECT_EQ(device->counts().allocations - memory, 0);
  // A kernel with a workspace is two launches.
  EXPECT_EQ(device->counts().launches - launches, kRuns * 2 * (kCalls + kCalls / 8 + 1));
  EXPECT_EQ(device->counts().synchronizes, 0);
  ASSERT_TRUE(last.tensor());
  EXPECT_EQ(last.tensor()->shape, Shape{3});
}

// A call of another size is correct and then steady again.
TEST(SteadyState, ANewSizeIsSteadyAfterItsFirstCalls) {
  auto device = std::make_shared<device::NullDevice>();
  auto session = std::move(*runtime::LocalSession::create(device));
  auto vm = std::move(*runtime::LocalVirtualMachine::create(*session, share(steady_program())));
  for (size_t n : {10000, 3, 20000}) {
    runtime::Tensor tensor = *runtime::upload(*session, f32(std::vector<float>(n)));
    std::vector<Value> args = {tensor, tensor};
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(vm->call("main", args));
    int64_t heap = allocation_count;
    for (int i = 0; i < 4; ++i) {
      auto result = vm->call("main", args);
      ASSERT_TRUE(result);
      EXPECT_EQ(result->tensor()->shape[0], static_cast<int64_t>(n));
    }
    if (counts_allocations) {
      EXPECT_EQ(allocation_count - heap, 0) << n;
    }
  }
}

}  // namespace
}  // namespace tapml::test
