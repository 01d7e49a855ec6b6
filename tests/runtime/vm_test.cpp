#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "runtime/local_virtual_machine.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::LocalVirtualMachine;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueList;
using Op = Opcode;

class VmTest : public ::testing::Test {
 protected:
  void make(Executable program) {
    auto vm = LocalVirtualMachine::create(*test_, share(std::move(program)));
    ASSERT_TRUE(vm) << vm.error().to_string();
    vm_ = std::move(*vm);
  }
  // A program of one function "main" with the kernels.
  void make_function(VmFunction main) {
    main.name = "main";
    Executable program = kernels_only(native_blob());
    program.constants.push_back(f32({4, 5, 6}));
    program.functions.push_back(std::move(main));
    make(std::move(program));
  }
  Tensor tensor(std::vector<float> values) { return *runtime::upload(*test_, f32(values)); }
  Result<Value> call(std::vector<Value> args) { return vm_->call("main", args); }
  Value value(std::vector<Value> args) {
    auto result = call(std::move(args));
    EXPECT_TRUE(result) << result.error().to_string();
    return result ? *result : Value();
  }
  std::vector<float> numbers(const Value& value) {
    if (!value.tensor()) return {};
    auto host = runtime::download(*value.tensor());
    return host ? floats(*host) : std::vector<float>{};
  }

  TestSession test_;
  std::unique_ptr<LocalVirtualMachine> vm_;
};

TEST_F(VmTest, RunsAProgramForAnySize) {
  make(chain_program(native_blob()));
  EXPECT_EQ(numbers(value({tensor({1, 2}), tensor({10, 20})})), (std::vector<float>{63, 126}));
  EXPECT_EQ(numbers(value({tensor({1, 2, 3}), tensor({1, 1, 1})})),
            (std::vector<float>{9, 12, 15}));
  EXPECT_EQ(numbers(value({tensor({}), tensor({})})), std::vector<float>{});
  EXPECT_EQ(vm_->call_point().calls(), 9);
  ASSERT_EQ(vm_->call_sites().size(), 3u);
  EXPECT_EQ(vm_->call_sites()[1].kernel->name, "add_00000001");
  EXPECT_EQ(vm_->call_sites()[1].origin, Origin{"model.layers.1"});
  EXPECT_EQ(vm_->call_sites()[2].id, 2);
}

TEST_F(VmTest, PreparesArgumentsOfCallsOnce) {
  make(packing_program(native_blob()));
  Value w(tensor({1, 2, 3, 4}));
  auto prepared = vm_->call("prepare", std::vector<Value>{w});
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  EXPECT_EQ(vm_->call_point().calls(), 0) << "no kernel call";
  EXPECT_EQ(numbers(value({w, tensor({10, 20, 30, 40}), *prepared})),
            (std::vector<float>{12, 24, 36, 48}));
  auto wrong = call({w, tensor({1, 2, 3, 4}), Value(Shape{1})});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("a tensor"), std::string::npos);
}

TEST_F(VmTest, OnlyEnqueues) {
  make(chain_program(native_blob()));
  std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
  test_.behaviour().deferred = true;
  Value result = value(args);
  EXPECT_EQ(test_.behaviour().synchronizes, 0);
  EXPECT_EQ(test_.behaviour().reads, 0);
  EXPECT_TRUE(test_.behaviour().launched.empty()) << "nothing ran yet";
  EXPECT_EQ(numbers(result), (std::vector<float>{63, 126}));
  EXPECT_EQ(test_.behaviour().launched, (std::vector<std::string>{"add", "add", "scale"}));
}

TEST_F(VmTest, ErrorsOfTheDeviceSurfaceAtTheRead) {
  make(chain_program(native_blob()));
  std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
  test_.behaviour().launch_error = internal_error("the kernel broke");
  auto result = call(args);
  ASSERT_TRUE(result);
  auto host = runtime::download(*result->tensor());
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().message, "the kernel broke");
  EXPECT_EQ(numbers(value(args)), (std::vector<float>{63, 126})) << "usable again";
}

TEST_F(VmTest, MemoryIsKeptBetweenCalls) {
  make(chain_program(native_blob()));
  std::vector<Value> args = {tensor(std::vector<float>(100, 1)),
                             tensor(std::vector<float>(100, 2))};
  value(args);
  int64_t before = test_.behaviour().allocations;
  for (int i = 0; i < 5; ++i) value(args);
  EXPECT_EQ(test_.behaviour().allocations, before);
  EXPECT_EQ(vm_->peak_bytes(), 800) << "two tensors of 400 bytes at a time";

  // A result that is still referenced is not overwritten by the next call.
  Value first = value(args);
  Value second = value({args[1], args[0]});
  EXPECT_EQ(numbers(first), std::vector<float>(100, 15));
  EXPECT_EQ(numbers(second), std::vector<float>(100, 12));

  // Memory of a larger call is released when later calls do not need it.
  int64_t small = test_.behaviour().live_bytes;
  {
    std::vector<Value> big = {tensor(std::vector<float>(50000)), tensor(std::vector<float>(50000))};
    value(big);
  }
  EXPECT_GT(test_.behaviour().live_bytes, small + 200000);
  first = second = Value();
  for (int i = 0; i < 5; ++i) value(args);
  EXPECT_LE(test_.behaviour().live_bytes, small);
}

// While a step runs, its caller holds the result of the step before, and its sampler runs between
// the two: two storages take turns.
TEST_F(VmTest, StepsWithASamplerBetweenAllocateNothing) {
  make(chain_program(native_blob()));
  const std::vector<Value> step = {tensor(std::vector<float>(1000, 1)),
                                   tensor(std::vector<float>(1000, 2))};
  const std::vector<Value> sampler = {tensor({1, 2}), tensor({10, 20})};
  // The prompt needs more, so that idle storages stay below the peak.
  value({tensor(std::vector<float>(5000, 1)), tensor(std::vector<float>(5000, 2))});
  Value held;
  int64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    if (i == 3) before = test_.behaviour().allocations;
    held = value(step);
    value(sampler);
  }
  EXPECT_EQ(test_.behaviour().allocations, before);
}

TEST_F(VmTest, IdleMemoryIsReleasedWhenMemoryRunsOut) {
  make(chain_program(native_blob()));
  value({tensor(std::vector<float>(10000)), tensor(std::vector<float>(10000))});
  std::vector<Value> args = {tensor({1, 2}), tensor({10, 20})};
  int64_t before = test_.behaviour().live_bytes;
  test_.behaviour().fail_allocations = 1;
  EXPECT_EQ(numbers(value(args)), (std::vector<float>{63, 126}));
  EXPECT_LT(test_.behaviour().live_bytes, before);
  std::vector<Value> large = {tensor(std::vector<float>(5000)), tensor(std::vector<float>(5000))};
  test_.behaviour().fail_allocations = 2;
  auto result = call(large);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_EQ(numbers(value(args)), (std::vector<float>{63, 126})) << "usable again";
}

TEST_F(VmTest, ArgumentsAreCheckedAgainstTheSignature) {
  make(chain_program(native_blob()));
  auto error_of = [&](std::vector<Value> args) {
    auto result = call(std::move(args));
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  };
  Error error = error_of({tensor({1, 2}), tensor({1, 2, 3})});
  EXPECT_EQ(error.kind, ErrorKind::kUser);
  EXPECT_EQ(error.message, "dimension 0 of parameter y of main is 3, not n = 2");
  EXPECT_EQ(error.where, "parameter y of main, dimension 0");
  EXPECT_EQ(error.expected, "n = 2");
  EXPECT_EQ(error.found, "3 (a tensor f32[3])");

  Tensor integers = tensor({1, 2});
  integers.dtype = DType::kI32;
  error = error_of({integers, tensor({1, 2})});
  EXPECT_EQ(error.where, "parameter x of main");
  EXPECT_EQ(error.expected, "a tensor of f32 with 1 dimensions");
  EXPECT_EQ(error.found, "a tensor i32[2]");
  EXPECT_EQ(error_of({Value(Shape{2}), tensor({1, 2})}).found, "a shape [2]");
  EXPECT_EQ(error_of({Value(), tensor({1, 2})}).found, "nothing");

  error = error_of({tensor({1})});
  EXPECT_EQ(error.expected, "2 arguments");
  EXPECT_EQ(error.found, "1");

  auto unknown = vm_->call("prefill", {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUser);
  EXPECT_EQ(unknown.error().expected, "one of main");

  TestSession other;
  Tensor far = *runtime::upload(*other, f32({1, 2}));
  EXPECT_NE(error_of({far, tensor({1, 2})}).message.find("session"), std::string::npos);
  Tensor outside = tensor({1, 2});
  outside.shape = {1000};
  EXPECT_NE(error_of({outside, outside}).message.find("outside"), std::string::npos);
  EXPECT_EQ(test_.behaviour().launches, 0);
}

TEST_F(VmTest, ShapesTuplesViewsAndConstants) {
  VmFunction main;
  main.params = {"s"};
  main.registers = 6;
  main.slots = 2;
  main.programs = {slot(0),
                   slot(1),
                   {{{ScalarOp::kSlot, 0}, {ScalarOp::kSlot, 1}, {ScalarOp::kMul, 0}}},
                   affine(0, 1, 1)};
  main.layouts = {{DType::kF32, {2}}, {DType::kF32, {1, 0}}};
  ValueCheck check;
  check.kind = ValueCheck::Kind::kShape;
  check.has_dims = true;
  check.dims = {{0, {}, "a"}, {1, {}, "b"}};
  check.where = "parameter s of main";
  main.checks = {check};
  main.code = {{Op::kCheck, 0, 0},
               {Op::kLoadConstant, 1, 0},
               {Op::kView, 2, 1, 1},      // [b, a]
               {Op::kComputeSlot, 0, 3},  // a + 1
               {Op::kMakeShape, 3, 0, 0, {0, 1}},
               {Op::kMakeTuple, 4, 0, 0, {2, 3, 1}},
               {Op::kGetItem, 1, 4, 0},
               {Op::kMakeTuple, 4, 0, 0, {4, 1}},
               {Op::kMove, 5, 4},
               {Op::kReturn, 5}};
  make_function(main);
  Value result = value({Value(Shape{1, 3})});
  ASSERT_TRUE(result.tuple());
  ASSERT_EQ(result.tuple()->size(), 2u);
  const ValueList& inner = *(*result.tuple())[0].tuple();
  ASSERT_EQ(inner.size(), 3u);
  EXPECT_EQ(inner[0].tensor()->shape, (Shape{3, 1}));
  EXPECT_EQ(numbers(inner[0]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(*inner[1].shape(), (Shape{2, 3}));
  EXPECT_EQ((*result.tuple())[1].tensor()->shape, (Shape{3, 1}));

  auto larger = call({Value(Shape{2, 3})});
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().where, "function main, instruction 2") << "a view beyond its tensor";
  EXPECT_FALSE(call({Value(Shape{-1, 3})}));
  EXPECT_EQ(numbers((*value({Value(Shape{1, 2})}).tuple())[1]), (std::vector<float>{4, 5}))
      << "a view may take a prefix";
}

TEST_F(VmTest, FunctionsCallEachOther) {
  Executable program = chain_program(native_blob());
  VmFunction outer;
  outer.name = "outer";
  outer.params = {"x"};
  outer.registers = 3;
  outer.code = {
      {Op::kCallFunction, 1, 0, 0, {0, 0}}, {Op::kCallFunction, 2, 0, 0, {1, 0}}, {Op::kReturn, 2}};
  VmFunction endless;
  endless.name = "endless";
  endless.params = {"x"};
  endless.registers = 1;
  endless.code = {{Op::kCallFunction, 0, 2, 0, {0}}, {Op::kReturn, 0}};
  program.functions.push_back(outer);
  program.functions.push_back(endless);
  make(std::move(program));
  std::vector<Value> args = {tensor({1, 2})};
  auto result = vm_->call("outer", args);
  ASSERT_TRUE(result) << result.error().to_string();
  // main(x, y) = 3 (x + 2 y): main(main(1, 1), 1) = main(9, 1) = 33
  EXPECT_EQ(numbers(*result), (std::vector<float>{33, 66}));
  auto deep = vm_->call("endless", args);
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().message.find("too deep"), std::string::npos);
}

TEST_F(VmTest, BranchesReadTheirCondition) {
  VmFunction main;
  main.params = {"c", "x", "y"};
  main.registers = 4;
  main.code = {{Op::kBranchIfNot, 0, 3},
               {Op::kMove, 3, 1},
               {Op::kJump, 0, 4},
               {Op::kMove, 3, 2},
               {Op::kReturn, 3}};
  make_function(main);
  auto flag = [&](bool on) {
    uint8_t byte = on;
    return Value(*runtime::upload(
        *test_, HostTensor::from(DType::kBool, {}, std::span<const uint8_t>(&byte, 1))));
  };
  EXPECT_EQ(numbers(value({flag(true), tensor({1}), tensor({2})})), std::vector<float>{1});
  EXPECT_EQ(numbers(value({flag(false), tensor({1}), tensor({2})})), std::vector<float>{2});
  EXPECT_FALSE(call({tensor({1}), tensor({1}), tensor({2})})) << "not a bool";
}

TEST_F(VmTest, RegistersOfAnotherKindAreRefused) {
  auto error_of = [&](std::vector<Instruction> code) {
    VmFunction main;
    main.params = {"x"};
    main.registers = 3;
    main.slots = 1;
    main.programs = {constant(2), constant(-8)};
    main.layouts = {{DType::kF32, {0}}, {DType::kI32, {0}}};
    main.code = std::move(code);
    main.code.push_back({Op::kReturn, 0});
    make_function(main);
    auto result = call({tensor({1, 2})});
    EXPECT_FALSE(result);
    return result ? "" : result.error().to_string();
  };
  auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error_of({{Op::kMakeTensor, 1, 0, 0}}), "a storage"));
  EXPECT_TRUE(has(error_of({{Op::kView, 1, 2, 0}}), "a tensor"));
  EXPECT_TRUE(has(error_of({{Op::kView, 1, 0, 1}}), "dtype"));
  EXPECT_TRUE(has(error_of({{Op::kGetItem, 1, 0, 0}}), "a tuple"));
  EXPECT_TRUE(has(error_of({{Op::kMakeTuple, 1, 0, 0, {0}}, {Op::kGetItem, 1, 1, 1}}), "a tuple"));
  EXPECT_TRUE(has(error_of({{Op::kMakeTuple, 1, 0, 0, {0}}, {Op::kGetItem, 1, 1, -1}}), "a tuple"));
  EXPECT_TRUE(has(error_of({{Op::kAllocStorage, 1, 1}}), "-8 bytes"));
}

TEST_F(VmTest, ATensorLargerThanItsStorage) {
  VmFunction main;
  main.registers = 2;
  main.programs = {constant(16), constant(5)};
  main.layouts = {{DType::kF32, {1}}};
  main.code = {{Op::kAllocStorage, 0, 0}, {Op::kMakeTensor, 1, 0, 0}, {Op::kReturn, 1}};
  make_function(main);
  auto result = call({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kInternal);
  EXPECT_NE(result.error().message.find("f32[5] of 20 bytes does not fit into 16 bytes"),
            std::string::npos);
}

TEST_F(VmTest, TensorsLieAtOffsetsInTheirStorage) {
  auto at = [&](int64_t bytes, int64_t offset) {
    VmFunction main;
    main.registers = 2;
    main.programs = {constant(bytes), constant(5), constant(offset)};
    main.layouts = {{DType::kF32, {1}, 2}};
    main.code = {{Op::kAllocStorage, 0, 0}, {Op::kMakeTensor, 1, 0, 0}, {Op::kReturn, 1}};
    make_function(main);
    return call({});
  };
  auto good = at(544, 512);
  ASSERT_TRUE(good) << good.error().to_string();
  EXPECT_EQ(good->tensor()->offset, 512);
  // Misaligned, before the storage, after it, and with too few bytes left in it.
  for (auto [offset, message] :
       {std::pair<int64_t, const char*>{
            16, "begins at byte 16 of a storage of 544 bytes, not at a multiple of 256"},
        {-256, "begins at byte -256"},
        {1024, "begins at byte 1024 of a storage of 544 bytes"},
        {int64_t{1} << 62, "begins at byte 4611686018427387904"}}) {
    auto result = at(544, offset);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kInternal);
    EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
  }
  auto result = at(528, 512);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("f32[5] of 20 bytes does not fit into 16 bytes"),
            std::string::npos)
      << result.error().message;
}

TEST_F(VmTest, AMalformedExecutableIsNotLoaded) {
  Executable program = chain_program(native_blob());
  program.functions[0].code[2].a = 6;
  EXPECT_FALSE(LocalVirtualMachine::create(*test_, share(std::move(program))));
}

}  // namespace
}  // namespace tapml::test
