// Shared by the elementwise operators: deduction and loops over all elements, with NumPy
// broadcasting over symbolic shapes.
#pragma once

#include "op/dtypes.h"
#include "op/lowering.h"

namespace tapml::op {

using UnaryFunction = PrimExpr (*)(PrimExpr);
using BinaryFunction = PrimExpr (*)(PrimExpr, PrimExpr);

// A scalar intrinsic of one dtype.
PrimExpr intrinsic(const char* name, PrimExpr x);
PrimExpr intrinsic(const char* name, PrimExpr a, PrimExpr b);
// x != 0 (a bool itself): NaN is true.
PrimExpr truth(PrimExpr x);
// Computes `x` once, however often `body` uses it.
PrimExpr bind(const char* name, PrimExpr x, const std::function<PrimExpr(PrimExpr)>& body);

// Result annotations of operators of one tensor.
relax::Annotation deduce_same(const CallView& call);       // any dtype
relax::Annotation deduce_number(const CallView& call);     // a number
relax::Annotation deduce_real(const CallView& call);       // real_dtype
relax::Annotation deduce_predicate(const CallView& call);  // bool

// Loops of an operator of one tensor: function(element), rounded to the result's dtype. The element
// has the type of arithmetic on the result's dtype; with `exact`, its own dtype.
tir::PrimFuncRef elementwise(const CallView& call, DType result, bool exact,
                             const std::function<PrimExpr(PrimExpr)>& function);

template <UnaryFunction F>
tir::PrimFuncRef legalize_real(const CallView& call) {
  return elementwise(call, real_dtype(call.dtype(0)), false, F);
}
template <UnaryFunction F>
tir::PrimFuncRef legalize_number(const CallView& call) {
  return elementwise(call, call.dtype(0), false, F);
}
template <UnaryFunction F>
tir::PrimFuncRef legalize_predicate(const CallView& call) {
  return elementwise(call, DType::kBool, true, F);
}

// The shape (rank) that the shapes of two tensors broadcast to.
Known broadcast_known(const CallView& call, const Known& a, const Known& b);
// Element of argument `index` for index i of `out`.
PrimExpr operand(const Lowering& lowering, size_t index, const tir::Buffer& out,
                 const std::vector<Var>& i);

// Result annotations of operators of two tensors that broadcast.
relax::Annotation deduce_arithmetic(const CallView& call);  // numbers, promoted
relax::Annotation deduce_quotient(const CallView& call);    // the same, real_dtype
relax::Annotation deduce_integers(const CallView& call);    // equal integer dtypes
relax::Annotation deduce_bits(const CallView& call);        // equal integer dtypes or bool
relax::Annotation deduce_comparison(const CallView& call);  // any, promotable: bool
relax::Annotation deduce_logical(const CallView& call);     // any: bool

// Loops of an operator of two tensors: operands cast to `compute`, the result to the deduced dtype.
tir::PrimFuncRef broadcasting(const CallView& call, DType compute,
                              const std::function<PrimExpr(PrimExpr, PrimExpr)>& function);
// The dtype in which the promoted operands are computed.
DType common_dtype(const CallView& call);

template <BinaryFunction F>
tir::PrimFuncRef legalize_binary(const CallView& call) {
  return broadcasting(call, common_dtype(call), F);
}

// Makes table entries. The generator draws the first argument's dtype from its list.
OperatorInfo unary_operator(const char* name, const char* doc, DeduceRule deduce,
                            LegalizeRule legalize, ReferenceRule reference,
                            std::vector<DType> dtypes, double low = -4, double high = 4);
OperatorInfo binary_operator(const char* name, const char* doc, DeduceRule deduce,
                             LegalizeRule legalize, ReferenceRule reference,
                             std::vector<DType> dtypes, double low = -4, double high = 4);
// The generator rule of binary operators: b broadcasts with a.
bool generate_partner(GeneratedCall& call, RandomStream& rng);

}  // namespace tapml::op
