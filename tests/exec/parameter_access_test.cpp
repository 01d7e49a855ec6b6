#include "exec/parameter_access.h"

#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "exec/validate.h"

namespace tapml::test {
namespace {

using Op = Opcode;

// For each parameter of main in the program, whether it is written.
std::vector<bool> written(const Executable& program) {
  EXPECT_TRUE(validate(program));
  return written_parameters(program, *program.find_function("main"));
}

// For main(x, y) with this code, whose registers 2 to 7 are free, and which returns register 2.
std::vector<bool> written(std::vector<Instruction> code) {
  Executable program = chain_program(native_blob());
  VmFunction other = program.functions[0];
  other.name = "other";
  program.functions.push_back(std::move(other));
  VmFunction& main = program.functions[0];
  main.registers = 8;
  code.insert(code.begin(), {main.code[0], main.code[1]});
  code.push_back({Op::kReturn, 2});
  main.code = std::move(code);
  return written(program);
}

TEST(ParameterAccess, FollowsKernelSignatures) {
  EXPECT_EQ(written(chain_program(native_blob())), (std::vector{false, false}));
  // add writes its c, and scale its x.
  EXPECT_EQ(written({{Op::kCallKernel, 0, 0, 0, {0, 0, 1}, {0}}}), (std::vector{false, true}));
  EXPECT_EQ(written({{Op::kCallKernel, 2, 0, 0, {0}, {0, 2}}}), (std::vector{true, false}));
}

TEST(ParameterAccess, WorkspacesAreWrittenAndPreparedTensorsAreNot) {
  EXPECT_EQ(written(packing_program(native_blob())), (std::vector{false, false, false}));
  EXPECT_EQ(written({{Op::kCallKernel, 0, 0, 2, {0, 0, 3}, {0}}}), (std::vector{false, true}));
  Executable program = packing_program(native_blob());
  EXPECT_EQ(written_parameters(program, *program.find_function("prepare")), (std::vector{false}));
}

TEST(ParameterAccess, ViewsAreFollowed) {
  EXPECT_EQ(written({{Op::kView, 3, 1, 0}, {Op::kCallKernel, 0, 0, 0, {0, 3, 4}, {0}}}),
            (std::vector{false, false}));
  EXPECT_EQ(written({{Op::kView, 3, 1, 0}, {Op::kCallKernel, 2, 0, 0, {3}, {0, 2}}}),
            (std::vector{false, true}));
  EXPECT_EQ(
      written({{Op::kMove, 3, 0}, {Op::kView, 4, 3, 0}, {Op::kCallKernel, 2, 0, 0, {4}, {0, 2}}}),
      (std::vector{true, false}));
  EXPECT_EQ(written({{Op::kGetItem, 3, 1, 0}, {Op::kCallKernel, 2, 0, 0, {3}, {0, 2}}}),
            (std::vector{false, true}));
}

TEST(ParameterAccess, ARegisterThatIsReusedMayBeEither) {
  EXPECT_EQ(written({{Op::kMove, 3, 0},
                     {Op::kRelease, 3},
                     {Op::kMove, 3, 1},
                     {Op::kCallKernel, 2, 0, 0, {3}, {0, 2}}}),
            (std::vector{true, true}));
}

TEST(ParameterAccess, EscapingTensorsMayBeWritten) {
  EXPECT_EQ(written({{Op::kMakeTuple, 2, 0, 0, {1}}}), (std::vector{false, true}));
  EXPECT_EQ(written({{Op::kCallFunction, 2, 1, 0, {0, 1}}}), (std::vector{true, true}));
  EXPECT_EQ(written({{Op::kMakeClosure, 3, 1, 0, {0}}, {Op::kMove, 2, 3}}),
            (std::vector{true, false}));
  EXPECT_EQ(written({{Op::kMove, 2, 0}}), (std::vector{false, false})) << "a result is no write";
}

}  // namespace
}  // namespace tapml::test
