// Queries and checks of symbolic shapes, shared by deduction and legalization.
#pragma once

#include <optional>
#include <string>

#include "op/operator.h"

namespace tapml::op {

// Whether they are equal for all values of the variables, which are assumed to be at least 0.
bool provably_equal(const PrimExpr& a, const PrimExpr& b);
bool provably_different(const PrimExpr& a, const PrimExpr& b);
bool provably_less(const PrimExpr& a, const PrimExpr& b);
PrimExpr simplified(const PrimExpr& expr);
PrimExpr product(const Dims& dims);
std::string dims_text(const Dims& dims);  // "(n, 4)"

// What is known about a tensor argument; every part may be absent.
struct Known {
  std::optional<Dims> shape;
  int ndim = relax::kUnknownNdim;
  std::optional<DType> dtype;
};

// What is known about argument `index`; UserError if it can never be a tensor.
Known known_tensor(const CallView& call, size_t index);
// The same for any annotation; `what` names it in the error ("argument 'x'").
Known known_tensor(const CallView& call, const relax::Annotation& annotation,
                   const std::string& what);
// The annotation with the shape if known, else the rank, and the dtype.
relax::Annotation tensor_result(const Known& known);
// Integers of a kShape / kPrim argument, if known.
std::optional<Dims> known_dims(const CallView& call, size_t index);

// Throws unless the rank is `ndim` or unknown.
void expect_ndim(const CallView& call, size_t index, int ndim);
void expect_min_ndim(const CallView& call, size_t index, int ndim);
// Throws unless the dtype is a float or unknown.
void expect_float(const CallView& call, size_t index);
void expect_dtype(const CallView& call, size_t index, DType dtype);
// Throws if the dtype is bool.
void expect_number(const CallView& call, size_t index);
// Throws if two integers are provably different and, in a strict call, if they are not provably
// equal; `what` names them ("numbers of elements").
void expect_equal(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                  const std::string& what);
// The same for dimensions ("x.3 and inv_freq.0").
void expect_same_dim(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                     const std::string& what);

// The same for a dimension that broadcasts: it must be 1 or `extent`.
void expect_broadcast_dim(const CallView& call, const PrimExpr& dim, const PrimExpr& extent,
                          const std::string& what);

// The same for a <= b; `what` names them ("size 0 and x.0"). If one is a dimension of an operand
// that a run-time check can test, it must be b.
void expect_at_most(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                    const std::string& what);
// The same for a >= least, where a is a dimension of an operand.
void expect_at_least(const CallView& call, const PrimExpr& a, const PrimExpr& least,
                     const std::string& what);

// The same for an extent whose positions must fit an i32 result.
void expect_counted(const CallView& call, const PrimExpr& extent, const std::string& what);

// The same for a dimension that `factor` (at least 1) must divide; returns dim / factor. `what`
// begins the message: "the channels do not divide into the groups".
PrimExpr expect_multiple(const CallView& call, const PrimExpr& dim, int64_t factor,
                         const std::string& what);

// `axis` counted from the front; UserError if it is out of range for rank `ndim`.
int64_t normalized_axis(const CallView& call, int64_t axis, int ndim);
// Sorted, counted from the front, without repetition (an error); empty means every axis.
std::vector<int64_t> normalized_axes(const CallView& call, const std::vector<int64_t>& axes,
                                     int ndim);

// NumPy broadcasting. std::nullopt if it is undecided whether two dimensions are compatible;
// UserError if they never are.
std::optional<Dims> broadcast(const CallView& call, const Dims& a, const Dims& b);
// Index of the broadcast operand of shape `from` for the output index `out`: trailing dimensions
// align, dimensions of extent 1 repeat.
std::vector<PrimExpr> broadcast_index(const Dims& from, const Dims& to,
                                      const std::vector<Var>& out);

// The float dtype that represents both: the wider, f32 for f16 with bf16. Other dtypes must be
// equal, else a UserError of the call.
DType promoted(const CallView& call, DType a, DType b);

}  // namespace tapml::op
