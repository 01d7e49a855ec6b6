#include "exec/validate.h"

#include <gtest/gtest.h>

#include <functional>

#include "conformance/programs.h"

namespace tapml::test {
namespace {

// The error for the chain program after `spoil` changed it.
std::string refusal(const std::function<void(Executable&)>& spoil) {
  Executable program = chain_program(native_blob());
  program.constants.push_back(f32({1, 2}));
  spoil(program);
  Status status = validate(program);
  if (status) return "accepted";
  EXPECT_EQ(status.error().kind, ErrorKind::kInternal);
  return status.error().where + ": " + status.error().message;
}

#define EXPECT_REFUSED(where, what, ...)                 \
  EXPECT_EQ(refusal([](Executable& e) { __VA_ARGS__; }), \
            where ": the executable is malformed: " what)

TEST(Validate, AcceptsValidExecutables) {
  EXPECT_EQ(refusal([](Executable&) {}), "accepted");
  EXPECT_TRUE(validate(Executable{}));
}

TEST(Validate, Kernels) {
  EXPECT_REFUSED("kernel add_00000001", "two kernels have this name",
                 e.kernels[1].name = "add_00000001");
  EXPECT_REFUSED("kernel add_00000001, parameter b", "its dtype is unknown",
                 e.kernels[0].params[1].dtype = static_cast<DType>(99));
  EXPECT_REFUSED("kernel add_00000001, parameter b", "its access mode is not allowed",
                 e.kernels[0].params[1].mode = AccessMode::kWorkspace);
  EXPECT_REFUSED("kernel add_00000001, parameter c, dimension 0", "slot 1 of 1",
                 e.kernels[0].params[2].dims[0] = slot(1));
  EXPECT_REFUSED("kernel add_00000001, parameter a", "it has too many dimensions",
                 e.kernels[0].params[0].dims.assign(65, constant(1)));
}

TEST(Validate, Implementations) {
  EXPECT_REFUSED("implementation 0", "kernel 3 of 3", e.implementations[0].kernel = 3);
  EXPECT_REFUSED("kernel scale_00000002", "it has two implementations",
                 e.implementations[2] = e.implementations[1]);
  EXPECT_REFUSED("kernel add_00000001", "module -1 of 1", e.implementations[0].module = -1);
  EXPECT_REFUSED("kernel twice_00000003, workspace w1", "its access mode is not allowed",
                 e.implementations[2].workspaces[1].mode = AccessMode::kOut);
  EXPECT_REFUSED("kernel twice_00000003, launch of add", "buffer 5 of 5",
                 e.implementations[2].launches[0].buffers[2] = 5);
  EXPECT_REFUSED("kernel scale_00000002, launch of scale", "scalar 2 of 2",
                 e.implementations[1].launches[0].scalars[0] = 2);
  EXPECT_REFUSED("kernel scale_00000002, launch of scale, extent",
                 "a scalar operation lacks its operands",
                 e.implementations[1].launches[0].extent.code = {{ScalarOp::kAdd, 0}});
  EXPECT_REFUSED("kernel scale_00000002, launch of scale", "a work group of 0",
                 e.implementations[1].launches[0].workgroup_threads = 0);
  EXPECT_REFUSED("kernel scale_00000002, launch of scale, rows", "slot 2 of 2",
                 e.implementations[1].launches[0].limits = {{slot(2), 9, "rows"}});
  EXPECT_REFUSED("kernel scale_00000002, launch of scale, condition", "slot 2 of 2",
                 e.implementations[1].launches[0].when = slot(2));
  EXPECT_REFUSED("kernel scale_00000002, launch of scale", "a grid of 4 dimensions",
                 e.implementations[1].launches[0].grid.assign(3, slot(0)));
  EXPECT_REFUSED("kernel scale_00000002, launch of scale, grid", "slot 2 of 2",
                 e.implementations[1].launches[0].grid = {slot(2)});
  EXPECT_REFUSED("kernel scale_00000002, launch of scale, shared buffer", "slot 2 of 2",
                 (e.implementations[1].launches[0].shared = {{slot(2), 4}}));
  EXPECT_REFUSED("kernel scale_00000002, launch of scale",
                 "a shared buffer with elements of 0 bytes",
                 (e.implementations[1].launches[0].shared = {{slot(0), 0}}));
  EXPECT_REFUSED("kernel scale_00000002, launch of scale", "9 shared buffers of symbolic size",
                 (e.implementations[1].launches[0].shared.assign(9, {slot(0), 4})));
  EXPECT_REFUSED("kernel scale_00000002, launch of nothing", "its module does not list this entry",
                 e.implementations[1].launches[0].entry = "nothing");
}

TEST(Validate, Preparation) {
  auto refused = [](const std::function<void(Executable&)>& spoil) {
    Executable program = packing_program(native_blob());
    spoil(program);
    Status status = validate(program);
    return status ? "accepted" : status.error().where + ": " + status.error().message;
  };
  const std::string malformed = ": the executable is malformed: ";
  EXPECT_EQ(refused([](Executable&) {}), "accepted");
  const std::string launch = "kernel pack_00000004, preparing launch of add" + malformed;
  EXPECT_EQ(refused([](Executable& e) { e.implementations[3].launches[0].buffers[1] = 2; }),
            launch + "it uses data that is not available at load");
  EXPECT_EQ(refused([](Executable& e) {
              e.implementations[3].workspaces[0].mode = AccessMode::kWorkspace;
            }),
            launch + "it uses data that is not available at load");
  EXPECT_EQ(refused([](Executable& e) {
              e.implementations[3].launches[0].extent.code = {
                  {ScalarOp::kConst, 1}, {ScalarOp::kConst, 0}, {ScalarOp::kFloorDiv, 0}};
            }),
            launch + "it depends on scalars");
  EXPECT_EQ(refused([](Executable& e) {
              e.implementations[3].workspaces[0].dims[0] = constant(-1);
            }).substr(0, 72),
            "kernel pack_00000004, prepared scratch: the executable is malformed: a d");
  const std::string at = "function prepare, instruction 3" + malformed;
  EXPECT_EQ(refused([](Executable& e) { e.functions[1].code[3].b = 4; }), at + "kernel 4 of 4");
  EXPECT_EQ(refused([](Executable& e) { e.functions[1].code[3].b = kTwice; }),
            at + "kernel twice_00000003 prepares nothing");
  EXPECT_EQ(refused([](Executable& e) { e.functions[1].code[3].list.clear(); }),
            at + "kernel pack_00000004 prepares 1 tensors, not 0");
  EXPECT_EQ(refused([](Executable& e) { e.functions[1].code[3].a = 9; }), at + "register 9 of 3");
  EXPECT_EQ(refused([](Executable& e) { e.functions[0].code[2].b = 9; }),
            "function main, instruction 2" + malformed + "register 8 of 5");
  EXPECT_EQ(refused([](Executable& e) { e.functions[0].code[2].b = -1; }),
            "function main, instruction 2" + malformed + "register -1 of 5");
}

TEST(Validate, Segments) {
  EXPECT_REFUSED("kernel add_00000001, a segment", "parameter 9 of 3",
                 e.implementations[0].segments = {{9, 0, 4}});
  EXPECT_REFUSED("kernel add_00000001, a segment", "it is part of a tensor of symbolic rows",
                 e.kernels[0].params[0].dims = {constant(4), slot(0)};
                 e.implementations[0].segments = {{0, 0, 4}});
  EXPECT_REFUSED("kernel add_00000001, a segment",
                 "it is outside of its tensor or not aligned to its elements",
                 e.implementations[0].segments = {{0, 2, 4}});
  // Rows that depend on the call.
  EXPECT_EQ(
      refusal([](Executable& e) { e.implementations[0].segments = {{0, 0, 64}, {0, 64, 64}}; }),
      "accepted");
  // A tensor of 32 bytes.
  for (Segment wrong : {Segment{1, 16, 20}, Segment{1, -4, 4}, Segment{1, 32, 4}, Segment{1, 0, 0},
                        Segment{1, 2, 4}, Segment{1, 4, INT64_MAX}}) {
    EXPECT_EQ(refusal([&](Executable& e) {
                e.kernels[0].params[1].dims = {constant(8)};
                e.implementations[0].segments = {wrong};
              }),
              "kernel add_00000001, a segment: the executable is malformed: it is outside of its "
              "tensor or not aligned to its elements");
  }
  EXPECT_EQ(refusal([](Executable& e) {
              e.kernels[0].params[1].dims = {constant(8)};
              e.implementations[0].segments = {{1, 0, 16}, {1, 16, 16}};
              e.implementations[0].launches[0].buffers[1] = 4;
            }),
            "accepted");
}

TEST(Validate, CallSitesAndConstants) {
  EXPECT_REFUSED("call site 2", "kernel 3 of 3", e.call_sites[2].kernel = 3);
  EXPECT_REFUSED("constant 0", "a dimension of shape [-1] is negative",
                 e.constants[0] = e.constants[0].reshaped({-1}));
  EXPECT_REFUSED("constant 0", "it has no bytes",
                 e.constants[0] = HostTensor::view(DType::kF32, {2}, nullptr, nullptr));
}

TEST(Validate, Functions) {
  EXPECT_REFUSED("function main", "two functions have this name",
                 e.functions.push_back(e.functions[0]));
  EXPECT_REFUSED("function main", "-1 registers and 1 slots", e.functions[0].registers = -1);
  EXPECT_REFUSED("function main", "6 registers and 2000000000 slots",
                 e.functions[0].slots = 2000000000);
  EXPECT_REFUSED("function main", "more parameters than registers", e.functions[0].registers = 1);
  EXPECT_REFUSED("function main", "2 sources of 1 slots", e.functions[0].sources.resize(2));
  EXPECT_REFUSED("function main", "its code does not end in a return",
                 e.functions[0].code.pop_back());
  EXPECT_REFUSED("function main", "its code does not end in a return", e.functions[0].code.clear());
  EXPECT_REFUSED("function main, program 1", "an unknown scalar operation",
                 e.functions[0].programs[1].code[2].op = static_cast<ScalarOp>(50));
  EXPECT_REFUSED("function main, program 2", "a scalar program does not leave one value",
                 e.functions[0].programs[2].code.clear());
  EXPECT_REFUSED("function main, layout 0", "program 3 of 3",
                 e.functions[0].layouts[0].dims[0] = 3);
  EXPECT_REFUSED("function main, layout 0", "program 3 of 3", e.functions[0].layouts[0].offset = 3);
  EXPECT_REFUSED("function main, layout 0", "program -2 of 3",
                 e.functions[0].layouts[0].offset = -2);
  EXPECT_REFUSED("function main, check 0", "slot 1 of 1",
                 e.functions[0].checks[0].dims[0].define_slot = 1);
  EXPECT_REFUSED("function main, check 1", "its kind is unknown",
                 e.functions[0].checks[1].kind = static_cast<ValueCheck::Kind>(9));
}

TEST(Validate, ChecksHaveANestingLimit) {
  EXPECT_REFUSED(
      "function main, check 0", "tuples are nested too deeply", ValueCheck check;
      for (int i = 0; i < 100; ++i) {
        ValueCheck outer;
        outer.kind = ValueCheck::Kind::kTuple;
        outer.fields.push_back(check);
        check = outer;
      } e.functions[0]
          .checks[0] = check);
}

TEST(Validate, Instructions) {
  EXPECT_REFUSED("function main, instruction 0", "check 2 of 2", e.functions[0].code[0].b = 2);
  EXPECT_REFUSED("function main, instruction 2", "register 6 of 6", e.functions[0].code[2].a = 6);
  EXPECT_REFUSED("function main, instruction 2", "program -5 of 3", e.functions[0].code[2].b = -5);
  EXPECT_REFUSED("function main, instruction 0", "program 3 of 3",
                 e.functions[0].code[0] = {Opcode::kComputeSlot, 0, 0, 4, {}, {}});
  EXPECT_REFUSED("function main, instruction 3", "layout 1 of 1", e.functions[0].code[3].c = 1);
  EXPECT_REFUSED("function main, instruction 4", "call site 3 of 3", e.functions[0].code[4].a = 3);
  EXPECT_REFUSED("function main, instruction 4",
                 "kernel add_00000001 takes 3 tensors and 1 scalars, not 2 and 1",
                 e.functions[0].code[4].list.pop_back());
  EXPECT_REFUSED("function main, instruction 4", "program 3 of 3",
                 e.functions[0].code[4].list2[0] = 3);
  EXPECT_REFUSED("function main, instruction 8", "its opcode is unknown",
                 e.functions[0].code[8].op = static_cast<Opcode>(200));
  EXPECT_REFUSED("function main, instruction 8", "slot 3 of 1",
                 (e.functions[0].code[8] = {Opcode::kComputeSlot, 3, 0}));
  EXPECT_REFUSED("function main, instruction 8", "constant 1 of 1",
                 (e.functions[0].code[8] = {Opcode::kLoadConstant, 0, 1}));
  EXPECT_REFUSED("function main, instruction 8", "instruction 12 of 12",
                 (e.functions[0].code[8] = {Opcode::kJump, 0, 12}));
  EXPECT_REFUSED("function main, instruction 8", "it jumps back",
                 (e.functions[0].code[8] = {Opcode::kBranchIfNot, 0, 8}));
  EXPECT_REFUSED("function main, instruction 8", "function 1 of 1",
                 (e.functions[0].code[8] = {Opcode::kCallFunction, 0, 1, 0, {0, 0}}));
  EXPECT_REFUSED("function main, instruction 8", "function main takes 2 arguments, not 1",
                 (e.functions[0].code[8] = {Opcode::kCallFunction, 0, 0, 0, {0}}));
}

TEST(Validate, FunctionValuesAndPackedCalls) {
  EXPECT_REFUSED("function main, instruction 8", "the kind of its call is unknown",
                 (e.functions[0].code[8] = {Opcode::kCallFunction, 0, 0, 2, {0, 0}}));
  EXPECT_REFUSED("function main, instruction 8", "the kind of its call is unknown",
                 (e.functions[0].code[8] = {Opcode::kCallValue, 0, 0, -1, {0}}));
  EXPECT_REFUSED("function main, instruction 8", "register 6 of 6",
                 (e.functions[0].code[8] = {Opcode::kCallValue, 0, 6, 0, {0}}));
  EXPECT_REFUSED("function main, instruction 8", "register -1 of 6",
                 (e.functions[0].code[8] = {Opcode::kCallValue, 0, 0, kTailCall, {-1}}));
  EXPECT_REFUSED("function main, instruction 8", "function 1 of 1",
                 (e.functions[0].code[8] = {Opcode::kMakeClosure, 0, 1}));
  EXPECT_REFUSED("function main, instruction 8",
                 "function main takes 2 arguments; a value of it holds 3",
                 (e.functions[0].code[8] = {Opcode::kMakeClosure, 0, 0, 0, {0, 0, 0}}));
  EXPECT_REFUSED("function main, instruction 8", "packed function 0 of 0",
                 (e.functions[0].code[8] = {Opcode::kCallPacked, 0, 0, 0, {0}}));
  EXPECT_REFUSED("function main, instruction 8",
                 "a host scalar of a dtype other than integers and bool",
                 (e.functions[0].code[8] = {Opcode::kMakePrim, 0, 0, 11}));
  EXPECT_REFUSED("function main, instruction 8", "program 3 of 3",
                 (e.functions[0].code[8] = {Opcode::kMakePrim, 0, 3, 4}));
  EXPECT_REFUSED("function main", "its notes are out of order",
                 (e.functions[0].notes = {{3, "a", {}}, {2, "b", {}}}));
  EXPECT_REFUSED("function main, a note", "instruction 12 of 12",
                 (e.functions[0].notes = {{12, "a", {}}}));
  EXPECT_REFUSED("function main, program 0", "a scalar operation lacks its operands",
                 (e.functions[0].programs[0].code = {
                      {ScalarOp::kConst, 0}, {ScalarOp::kConst, 0}, {ScalarOp::kSelect, 0}}));
}

}  // namespace
}  // namespace tapml::test
