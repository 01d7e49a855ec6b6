// Integer expressions over scalar slots as plain data: shapes, launch grids and sizes, which the
// VM, the launcher and remote sessions compute on the host at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tapml {

enum class ScalarOp : uint8_t {
  kConst,  // push operand
  kSlot,   // push slots[operand]
  kAdd,    // all but kSelect pop two values and push one
  kSub,
  kMul,
  kFloorDiv,  // an error for a zero divisor
  kFloorMod,
  kMin,
  kMax,
  kEq,  // 1 or 0
  kLt,
  kSelect,  // pops else, then, condition; both sides are evaluated
};

struct ScalarInst {
  ScalarOp op = ScalarOp::kConst;
  int64_t operand = 0;
  bool operator==(const ScalarInst&) const = default;
};

// A postfix program that leaves exactly one value. Arithmetic is checked for overflow.
struct ScalarProgram {
  std::vector<ScalarInst> code;
  bool operator==(const ScalarProgram&) const = default;
  static ScalarProgram constant(int64_t value) { return {{{ScalarOp::kConst, value}}}; }
  static ScalarProgram slot(int64_t index) { return {{{ScalarOp::kSlot, index}}}; }
};

// The value of `program` over `slots`; an error for a malformed program, a slot out of range, a
// zero divisor or overflow.
Result<int64_t> evaluate(const ScalarProgram& program, std::span<const int64_t> slots);

}  // namespace tapml
