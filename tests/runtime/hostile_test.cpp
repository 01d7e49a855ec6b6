// Executables that were tampered with end in an error or a result, never in a crash.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "conformance/programs.h"
#include "runtime/local_virtual_machine.h"
#include "test_device.h"

namespace tapml::test {
namespace {

using runtime::LocalVirtualMachine;
using runtime::Value;
using Op = Opcode;

constexpr uint64_t kSeed = 20260101;

// A program that uses every instruction.
Executable rich_program() {
  Executable program = chain_program(native_blob());
  uint8_t no = 0;
  program.constants = {f32({1, 2, 3}),
                       HostTensor::from(DType::kBool, {}, std::span<const uint8_t>(&no, 1))};
  VmFunction outer;
  outer.name = "outer";
  outer.params = {"x", "s"};
  outer.registers = 14;
  outer.slots = 2;
  outer.programs = {slot(0), slot(1), affine(0, 2, 1), constant(1)};
  outer.layouts = {{DType::kF32, {0}}, {DType::kF32, {3, 0}}};
  outer.checks = {vector_check("parameter x of outer", {0, {}, "n"}), ValueCheck{}};
  outer.checks[1].kind = ValueCheck::Kind::kShape;
  outer.checks[1].has_dims = true;
  outer.checks[1].dims = {{1, {}, "m"}};
  outer.code = {{Op::kCheck, 0, 0},
                {Op::kCheck, 1, 1},
                {Op::kComputeSlot, 1, 2},
                {Op::kCallFunction, 2, 0, 0, {0, 0}},
                {Op::kView, 3, 2, 1},
                {Op::kMakeShape, 4, 0, 0, {0, 1, 2}},
                {Op::kLoadConstant, 5, 1},
                {Op::kBranchIfNot, 5, 9},
                {Op::kJump, 0, 10},
                {Op::kLoadConstant, 6, 0},
                {Op::kMakeTuple, 7, 0, 0, {3, 4, 6}},
                {Op::kGetItem, 6, 7, 0},
                {Op::kMove, 5, 6},
                {Op::kRelease, 3},
                {Op::kMakePrim, 8, 1, 4},
                {Op::kMakeClosure, 9, 2, 0, {8}},
                {Op::kCallValue, 10, 9, 0, {7}},
                {Op::kCallPacked, 11, 0, 0, {0, 10}},
                {Op::kMakePrim, 12, 3, 0},
                {Op::kBranchIfNot, 12, 21},
                {Op::kCallValue, 13, 9, kTailCall, {7}},
                {Op::kReturn, 13}};
  outer.notes = {{0, "x", {"layers.0"}}, {16, "loop", {}}};
  // Counts down by tail calls.
  VmFunction loop;
  loop.name = "loop";
  loop.params = {"k", "x"};
  loop.registers = 5;
  loop.slots = 1;
  loop.programs = {slot(0),
                   {{{ScalarOp::kSlot, 0}, {ScalarOp::kConst, 1}, {ScalarOp::kSub}}},
                   {{{ScalarOp::kConst, 0}, {ScalarOp::kSlot, 0}, {ScalarOp::kLt}}}};
  loop.checks = {ValueCheck{}};
  loop.checks[0].kind = ValueCheck::Kind::kPrim;
  loop.checks[0].dtype = DType::kI64;
  loop.checks[0].dims = {{.define_slot = 0}};
  loop.code = {{Op::kCheck, 0, 0},
               {Op::kMakePrim, 2, 2, 0},
               {Op::kBranchIfNot, 2, 6},
               {Op::kMakePrim, 3, 1, 4},
               {Op::kCallFunction, 4, 2, kTailCall, {3, 1}},
               {Op::kReturn, 4},
               {Op::kReturn, 1}};
  program.packed = {"note"};
  program.functions.push_back(std::move(outer));
  program.functions.push_back(std::move(loop));
  return program;
}

class Mutator {
 public:
  Mutator(uint64_t seed, uint64_t round) : random_(seed, "mutate" + std::to_string(round)) {}

  void mutate(Executable& program) {
    VmFunction& function = program.functions[random_.below(program.functions.size())];
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
        return instruction(pick(function.code));
      case 3:
        return scalars(pick(function.programs));
      case 4:
        if (!function.layouts.empty()) {
          TensorLayout& layout = pick(function.layouts);
          if (random_.chance(0.3)) {
            layout.dtype = static_cast<DType>(random_.below(20));
          } else if (random_.chance(0.3)) {
            number(layout.offset);
          } else {
            list(layout.dims);
          }
        }
        return;
      case 5:
        return check(pick(function.checks));
      case 6:
        number(random_.chance(0.5) ? function.registers : function.slots);
        return;
      case 7:
        number(pick(program.call_sites).kernel);
        return;
      case 8:
        number(random_.chance(0.5) ? pick(program.implementations).kernel
                                   : pick(program.implementations).module);
        return;
      case 9: {
        LaunchInfo& launch = pick(pick(program.implementations).launches);
        switch (random_.below(4)) {
          case 0:
            return list(launch.buffers);
          case 1:
            return list(launch.scalars);
          case 2:
            return scalars(launch.extent);
          default:
            launch.workgroup_threads = value();
            return;
        }
      }
      case 10: {
        ParamInfo& param = pick(pick(program.kernels).params);
        switch (random_.below(3)) {
          case 0:
            param.dtype = static_cast<DType>(random_.below(20));
            return;
          case 1:
            param.mode = static_cast<AccessMode>(random_.below(8));
            return;
          default:
            return scalars(pick(param.dims));
        }
      }
      default:
        if (random_.chance(0.5))
          function.code.pop_back();
        else
          std::swap(pick(function.code), pick(function.code));
    }
  }

 private:
  template <class T>
  T& pick(std::vector<T>& values) {
    return values[random_.below(static_cast<uint32_t>(values.size()))];
  }
  int64_t value() {
    switch (random_.below(8)) {
      case 0:
        return -1;
      case 1:
        return int64_t{1} << 62;
      case 2:
        return INT32_MAX;
      case 3:
        return INT64_MIN;
      default:
        return random_.below(12);
    }
  }
  void number(int32_t& target) { target = static_cast<int32_t>(value()); }
  void list(std::vector<int32_t>& values) {
    if (values.empty() || random_.chance(0.2))
      return values.push_back(static_cast<int32_t>(value()));
    if (random_.chance(0.2)) return values.pop_back();
    number(pick(values));
  }
  void scalars(ScalarProgram& program) {
    if (program.code.empty() || random_.chance(0.1)) return program.code.push_back({});
    ScalarInst& inst = pick(program.code);
    if (random_.chance(0.5))
      inst.op = static_cast<ScalarOp>(random_.below(14));
    else
      inst.operand = value();
  }
  void check(ValueCheck& target) {
    switch (random_.below(4)) {
      case 0:
        target.kind = static_cast<ValueCheck::Kind>(random_.below(8));
        return;
      case 1:
        number(target.ndim);
        return;
      case 2:
        target.has_dims = !target.has_dims;
        return;
      default:
        if (target.dims.empty()) return;
        if (random_.chance(0.5))
          number(pick(target.dims).define_slot);
        else
          scalars(pick(target.dims).equals);
    }
  }
  void instruction(Instruction& inst) {
    switch (random_.below(6)) {
      case 0:
        inst.op = static_cast<Op>(random_.below(26));
        return;
      case 1:
        return number(inst.a);
      case 2:
        return number(inst.b);
      case 3:
        return number(inst.c);
      case 4:
        return list(inst.list);
      default:
        return list(inst.list2);
    }
  }

  RandomStream random_;
};

TEST(HostileExecutable, NeverCrashesTheVirtualMachine) {
  int loaded = 0, ran = 0;
  for (uint64_t round = 0; round < 4000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    Executable program = rich_program();
    Mutator mutator(kSeed, round);
    for (uint64_t i = 0; i <= round % 3; ++i) mutator.mutate(program);
    TestSession test;
    test.behaviour().computes = false;  // device code is not checked
    runtime::HostFunctions functions;
    functions["note"] = [](runtime::Session&, std::span<const Value> values) -> Result<Value> {
      return values.empty() ? Value(Shape{1}) : values[0];
    };
    auto vm = LocalVirtualMachine::create(*test, share(std::move(program)), functions);
    if (!vm) {
      EXPECT_FALSE(vm.error().message.empty());
      continue;
    }
    ++loaded;
    (*vm)->set_call_limit(1000);
    std::vector<Value> args = {*runtime::upload(*test, f32({1, 2, 3})), Shape{7}};
    auto result = (*vm)->call("outer", args);
    if (result) {
      ++ran;
    } else {
      EXPECT_FALSE(result.error().message.empty());
    }
  }
  // The mutations are neither all harmless nor all refused.
  EXPECT_GT(loaded, 500);
  EXPECT_LT(loaded, 3500);
  EXPECT_GT(ran, 200);
  EXPECT_LT(ran, loaded);
}

}  // namespace
}  // namespace tapml::test
