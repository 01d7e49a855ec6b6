// Operations across the threads of a subgroup: those of a work group that run in lockstep.
//
//   x[0] = subgroup_sum(v, 32)             the sum of v over the subgroup; also _max and _min (as
//                                          `max` and `min`: NaN if any is)
//   x[0] = subgroup_shuffle_xor(v, 4, 32)  v of the thread whose index differs in the bits of 4
//
// The last operand is the width of the subgroups that the program is compiled for, a power of two:
// a subgroup is `width` consecutive threads of the loop over threads, the first at a multiple of
// the width. Code for subgroups of another width, or for none, exchanges values through local
// memory.
//
// Such a call is the whole value of a store below a loop over threads, and all threads of the group
// reach it together, as a barrier (but it does not make memory visible): invariant T11.
#pragma once

#include <optional>
#include <string_view>

#include "tir/stmt.h"

namespace tapml::tir {

enum class SubgroupOp : uint8_t { kSum, kMax, kMin, kShuffleXor };

struct SubgroupCall {
  SubgroupOp op = SubgroupOp::kSum;
  PrimExpr value;
  int64_t mask = 0;  // of a shuffle
  int64_t width = 0;
};

std::optional<SubgroupOp> find_subgroup_op(std::string_view name);
const char* subgroup_op_name(SubgroupOp op);  // "subgroup_sum", ...
// Operands of a call: the value, the mask of a shuffle, the width.
size_t subgroup_operands(SubgroupOp op);

PrimExpr subgroup_call(const SubgroupCall& call);
// std::nullopt if `expr` is not a subgroup call.
std::optional<SubgroupCall> as_subgroup_call(const PrimExpr& expr);

// Whether the type has 32 bits: every device with subgroup operations supports those.
bool has_subgroup_ops(DType dtype);
// How a reduction combines two values: kAdd, kMax or kMin. std::nullopt for a shuffle.
std::optional<ExprKind> combination_of(SubgroupOp op);
std::optional<SubgroupOp> subgroup_reduction(ExprKind combination);  // the inverse

// Whether the threads of a group or of a subgroup reach the statement together: a barrier, a store
// of a subgroup call, or a matrix operation.
bool joins_threads(const Stmt& stmt);
// Whether any statement inside joins threads.
bool has_joint(const Stmt& stmt);

}  // namespace tapml::tir
