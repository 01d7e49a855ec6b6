// Questions about symbolic shapes that deduction and legalization share.
#pragma once

#include <optional>
#include <string>

#include "op/operator.h"

namespace tapml::op {

// For every value of the variables, which are taken as at least 0.
bool provably_equal(const PrimExpr& a, const PrimExpr& b);
bool provably_different(const PrimExpr& a, const PrimExpr& b);
bool provably_less(const PrimExpr& a, const PrimExpr& b);
PrimExpr simplified(const PrimExpr& expr);
PrimExpr product(const Dims& dims);
std::string dims_text(const Dims& dims);  // "(n, 4)"

// What is known of a tensor argument; everything may be absent.
struct Known {
  std::optional<Dims> shape;
  int ndim = relax::kUnknownNdim;
  std::optional<DType> dtype;
};

// Argument `index` as far as it is known; UserError where it can never be a tensor.
Known known_tensor(const CallView& call, size_t index);
// The same of any annotation; `what` names it in the error ("argument 'x'").
Known known_tensor(const CallView& call, const relax::Annotation& annotation,
                   const std::string& what);
// The shape where known, else the rank, and the dtype.
relax::Annotation tensor_result(const Known& known);
// Integers of a kShape / kPrim argument where they are known.
std::optional<Dims> known_dims(const CallView& call, size_t index);

// Throws unless the rank is `ndim` or unknown.
void expect_ndim(const CallView& call, size_t index, int ndim);
void expect_min_ndim(const CallView& call, size_t index, int ndim);
// Throws unless the dtype is a float or unknown.
void expect_float(const CallView& call, size_t index);
void expect_dtype(const CallView& call, size_t index, DType dtype);
// Throws where the dtype is bool.
void expect_number(const CallView& call, size_t index);
// Throws where two integers are provably different, and in a strict call where they are not
// provably equal; `what` says which ("numbers of elements").
void expect_equal(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                  const std::string& what);
// The same for dimensions ("x.3 and inv_freq.0").
void expect_same_dim(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                     const std::string& what);

// The same for a dimension that is repeated where it is 1: it must be 1 or `extent`.
void expect_broadcast_dim(const CallView& call, const PrimExpr& dim, const PrimExpr& extent,
                          const std::string& what);

// The same for a <= b; `what` says which ("size 0 and x.0"). Where a dimension of an operand can be
// held to it, that is b.
void expect_at_most(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                    const std::string& what);
// The same for a >= least, where it is a that is a dimension of an operand.
void expect_at_least(const CallView& call, const PrimExpr& a, const PrimExpr& least,
                     const std::string& what);

// The same for an extent whose places an i32 result counts.
void expect_counted(const CallView& call, const PrimExpr& extent, const std::string& what);

// The same for a dimension that `factor`, at least 1, has to divide; the dimension in units of it.
// `what` begins the message: "the channels do not divide into the groups".
PrimExpr expect_multiple(const CallView& call, const PrimExpr& dim, int64_t factor,
                         const std::string& what);

// `axis` counted from the front; UserError where it is outside a tensor of rank `ndim`.
int64_t normalized_axis(const CallView& call, int64_t axis, int ndim);
// Sorted, counted from the front, without repetition (an error); empty means every axis.
std::vector<int64_t> normalized_axes(const CallView& call, const std::vector<int64_t>& axes,
                                     int ndim);

// NumPy broadcasting. Empty where two dimensions may or may not be compatible; a UserError where
// they never are.
std::optional<Dims> broadcast(const CallView& call, const Dims& a, const Dims& b);
// Index of the broadcast operand of shape `from` for the output index `out`: trailing dimensions
// align, dimensions of extent 1 repeat.
std::vector<PrimExpr> broadcast_index(const Dims& from, const Dims& to,
                                      const std::vector<Var>& out);

// Float dtype that holds both: the wider, f32 for f16 with bf16. For other dtypes both must agree
// (a UserError of the call).
DType promoted(const CallView& call, DType a, DType b);

}  // namespace tapml::op
