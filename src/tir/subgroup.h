// Operations across the threads of a subgroup: those of a work group that run in lockstep.
//
//   x[0] = subgroup_sum(v, 32)             the sum of v over the subgroup; also _max and _min (as
//                                          `max` and `min`: NaN if any is)
//   x[0] = subgroup_shuffle_xor(v, 4, 32)  v of the thread whose place differs in the bits of 4
//
// The last operand is the width of the subgroups that the program is made for, a power of two: a
// subgroup is `width` neighbours of the loop over threads, the first of them a multiple of the
// width. Code for subgroups of another width, or for none, exchanges values through local memory.
//
// Such a call is the whole value of a store below a loop over threads, and all threads of the group
// come to it together, as to a barrier (but memory is not made visible): invariant T11.
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
// Null where `expr` is none.
std::optional<SubgroupCall> as_subgroup_call(const PrimExpr& expr);

// One of 32 bits: what every device with such operations has them for.
bool has_subgroup_ops(DType dtype);
// How two values of a reduction become one; kAdd, kMax or kMin. Null for a shuffle.
std::optional<ExprKind> combination_of(SubgroupOp op);
std::optional<SubgroupOp> subgroup_reduction(ExprKind combination);  // the other way

// Whether the threads of a group come to the statement together: a barrier, or a store of such a
// call.
bool joins_threads(const Stmt& stmt);
// Whether any statement in it is one.
bool has_joint(const Stmt& stmt);

}  // namespace tapml::tir
