// Malformed instructions on views, and the guarantees of tail calls.
#include <gtest/gtest.h>

#include "conformance/programs.h"
#include "exec/validate.h"

namespace tapml::test {
namespace {

const std::string kMalformed = "the executable is malformed: ";

// The error for the chain program with `instruction` added.
std::string instruction_refusal(const Instruction& instruction) {
  Executable program = chain_program(native_blob());
  program.functions[0].code[8] = instruction;
  Status status = validate(program);
  return status ? "accepted" : status.error().message;
}

int32_t number(StorageAction action) { return static_cast<int32_t>(action); }

TEST(ValidateStorage, Operations) {
  const int32_t transpose = number(StorageAction::kTranspose);
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, number(StorageAction::kBase)}),
            "accepted");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, transpose, {}, {1, 0}}), "accepted");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, number(StorageAction::kCheckAssign) + 1}),
            kMalformed + "its operation on storage is unknown");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, -1}),
            kMalformed + "its operation on storage is unknown");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, number(StorageAction::kSlice), {0}}),
            kMalformed + "its operation on storage has other operands");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, number(StorageAction::kLayout), {}, {0}}),
            kMalformed + "its operation on storage has other operands");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, transpose, {}, {0, 0}}),
            kMalformed + "an axis is named twice");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, transpose, {}, {0, 2}}),
            kMalformed + "axis 2 of 2");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, transpose, {}, {-1}}),
            kMalformed + "axis -1 of 1");
  EXPECT_EQ(
      instruction_refusal({Opcode::kStorage, 0, 0, transpose, {}, std::vector<int32_t>(65, 0)}),
      kMalformed + "it has too many axes");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 6, 0, number(StorageAction::kBase)}),
            kMalformed + "register 6 of 6");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, -1, number(StorageAction::kBase)}),
            kMalformed + "register -1 of 6");
  EXPECT_EQ(instruction_refusal({Opcode::kStorage, 0, 0, number(StorageAction::kReshape), {6}}),
            kMalformed + "register 6 of 6");
}

TEST(ValidateStorage, Promises) {
  EXPECT_EQ(instruction_refusal({Opcode::kCallValue, 0, 0, 0, {0}, {0}}),
            kMalformed + "only a tail call can have result checks");
  EXPECT_EQ(instruction_refusal({Opcode::kCallValue, 0, 0, kTailCall, {0}, {-1}})
                .find(kMalformed + "check -1"),
            0u);
}

}  // namespace
}  // namespace tapml::test
