// Fast evaluation of scalar programs, most of which are a constant or a slot.
#pragma once

#include "abi/scalar_program.h"
#include "tensor/host_tensor.h"

namespace tapml::runtime {

// Like evaluate(), without a Result for the two shortest programs: false if evaluate() has to be
// called for the value or the error.
inline bool simple_value(const ScalarProgram& program, std::span<const int64_t> slots,
                         int64_t& value) noexcept {
  if (program.code.size() != 1) return false;
  const ScalarInst& inst = program.code.front();
  if (inst.op == ScalarOp::kConst) {
    value = inst.operand;
    return true;
  }
  if (inst.op != ScalarOp::kSlot || static_cast<uint64_t>(inst.operand) >= slots.size()) {
    return false;
  }
  value = slots[static_cast<size_t>(inst.operand)];
  return true;
}

// Stores the value of `program` in `value`; false if evaluate() gives an error.
inline bool evaluate_into(const ScalarProgram& program, std::span<const int64_t> slots,
                          int64_t& value) {
  if (simple_value(program, slots, value)) return true;
  Result<int64_t> result = evaluate(program, slots);
  if (result) value = *result;
  return result.has_value();
}

// Bytes of a tensor; false if checked_byte_count() has to be called.
inline bool simple_byte_count(DType dtype, std::span<const int64_t> shape,
                              int64_t& bytes) noexcept {
  int64_t total = static_cast<int64_t>(dtype_bytes(dtype));
  for (int64_t extent : shape) {
    if (extent <= 0 || __builtin_mul_overflow(total, extent, &total)) return false;
  }
  bytes = total;
  return true;
}

}  // namespace tapml::runtime
