#include "op/shapes.h"

#include <algorithm>
#include <limits>

#include "arith/broadcast_dim.h"
#include "arith/symbols.h"
#include "ir/exceptions.h"

namespace tapml::op {

bool provably_equal(const PrimExpr& a, const PrimExpr& b) {
  if (same_expr(a, b)) return true;
  if (a.is_int() && b.is_int()) return false;
  return arith::analyzer_of({a, b}).prove_equal(a, b);
}

bool provably_different(const PrimExpr& a, const PrimExpr& b) {
  if (a.is_int() && b.is_int()) return a->int_value != b->int_value;
  return provably_less(a, b) || provably_less(b, a);
}

bool provably_less(const PrimExpr& a, const PrimExpr& b) {
  if (a.is_int() && b.is_int()) return a->int_value < b->int_value;
  if (same_expr(a, b)) return false;
  return arith::analyzer_of({a, b}).prove_less(a, b);
}

PrimExpr simplified(const PrimExpr& expr) {
  return expr.is_int() || expr.is_var() ? expr : arith::analyzer_of({expr}).simplify(expr);
}

PrimExpr product(const Dims& dims) {
  PrimExpr result = 1;
  for (const PrimExpr& dim : dims) result = result * dim;
  return result;
}

std::string dims_text(const Dims& dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + to_string(dims[i]);
  return text + (dims.size() == 1 ? ",)" : ")");
}

Known known_tensor(const CallView& call, const relax::Annotation& annotation,
                   const std::string& what) {
  Known known;
  if (annotation->kind == relax::AnnotationKind::kObject) return known;
  const auto* tensor = relax::as_tensor(annotation);
  if (!tensor) call.error(what + " is not a tensor", "a tensor", to_string(annotation));
  known.shape = tensor->shape;
  known.ndim = tensor->ndim;
  known.dtype = tensor->dtype;
  return known;
}

namespace {
std::string argument_text(const CallView& call, size_t index) {
  return "argument '" + std::string(call.info.args[index].name) + "'";
}
}  // namespace

Known known_tensor(const CallView& call, size_t index) {
  return known_tensor(call, call.annotations[index], argument_text(call, index));
}

relax::Annotation tensor_result(const Known& known) {
  if (known.shape) return relax::tensor_annotation(*known.shape, known.dtype);
  return relax::tensor_annotation_ndim(known.ndim, known.dtype);
}

std::optional<Dims> known_dims(const CallView& call, size_t index) {
  const relax::Annotation& annotation = call.annotations[index];
  if (const auto* shape = relax::as_shape(annotation)) return shape->dims;
  if (const auto* prim = relax::as_prim(annotation)) {
    if (prim->value) return Dims{prim->value};
  }
  return std::nullopt;
}

void expect_ndim(const CallView& call, size_t index, int ndim) {
  Known known = known_tensor(call, index);
  if (known.ndim == relax::kUnknownNdim || known.ndim == ndim) return;
  call.error(argument_text(call, index) + " has the wrong rank",
             std::to_string(ndim) + " dimensions", to_string(call.annotations[index]));
}

void expect_min_ndim(const CallView& call, size_t index, int ndim) {
  Known known = known_tensor(call, index);
  if (known.ndim == relax::kUnknownNdim || known.ndim >= ndim) return;
  call.error(argument_text(call, index) + " has too few dimensions",
             "at least " + std::to_string(ndim) + (ndim == 1 ? " dimension" : " dimensions"),
             to_string(call.annotations[index]));
}

void expect_float(const CallView& call, size_t index) {
  Known known = known_tensor(call, index);
  if (!known.dtype || is_float(*known.dtype)) return;
  call.error(argument_text(call, index) + " has the wrong dtype", "a float dtype",
             dtype_name(*known.dtype));
}

void expect_number(const CallView& call, size_t index) {
  Known known = known_tensor(call, index);
  if (!known.dtype || *known.dtype != DType::kBool) return;
  call.error(argument_text(call, index) + " has the wrong dtype", "a float or integer dtype",
             dtype_name(*known.dtype));
}

void expect_dtype(const CallView& call, size_t index, DType dtype) {
  Known known = known_tensor(call, index);
  if (!known.dtype || *known.dtype == dtype) return;
  call.error(argument_text(call, index) + " has the wrong dtype", dtype_name(dtype),
             dtype_name(*known.dtype));
}

namespace {
// In a strict call: records an undecided equality, or rejects it.
void leave_open(const CallView& call, OpenEquality open, const std::string& message,
                const std::string& expected, const std::string& found) {
  if (!call.strict) return;
  if (!call.undecided) call.error(message, expected, found);
  call.undecided->push_back(std::move(open));
}
}  // namespace

void expect_equal(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                  const std::string& what) {
  if (provably_different(a, b)) {
    call.error(what + " differ", "equal ones", to_string(a) + " and " + to_string(b));
  }
  if (provably_equal(a, b)) return;
  leave_open(call, {a, b, what}, what + " may differ", "provably equal integers",
             to_string(a) + " and " + to_string(b));
}

void expect_same_dim(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                     const std::string& what) {
  if (provably_different(a, b)) {
    call.error("dimensions " + what + " differ", "equal dimensions",
               to_string(a) + " and " + to_string(b));
  }
  if (provably_equal(a, b)) return;
  leave_open(call, {a, b, "dimensions " + what}, "dimensions " + what + " may differ",
             "provably equal dimensions; a match_cast to the same symbol makes them so",
             to_string(a) + " and " + to_string(b));
}

void expect_at_most(const CallView& call, const PrimExpr& a, const PrimExpr& b,
                    const std::string& what) {
  if (provably_less(b, a)) {
    call.error("of " + what + " the first is larger", "at most " + to_string(b), to_string(a));
  }
  if (provably_less(a, b + 1)) return;
  leave_open(call, {max(a, b), b, what}, "of " + what + " the first may be larger",
             "provably at most " + to_string(b), to_string(a));
}

void expect_at_least(const CallView& call, const PrimExpr& a, const PrimExpr& least,
                     const std::string& what) {
  if (provably_less(a, least)) {
    call.error(what + " is too small", "at least " + to_string(least), to_string(a));
  }
  if (provably_less(least, a + 1)) return;
  leave_open(call, {max(least, a), a, what}, what + " may be too small",
             "provably at least " + to_string(least), to_string(a));
}

void expect_counted(const CallView& call, const PrimExpr& extent, const std::string& what) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (provably_less(kMost, extent)) {
    call.error(what + " exceeds the range of i32", "at most " + std::to_string(kMost),
               to_string(extent));
  }
  if (provably_less(extent, kMost + 1)) return;
  leave_open(call, {min(extent, kMost), extent, what}, what + " may exceed the range of i32",
             "provably at most " + std::to_string(kMost), to_string(extent));
}

PrimExpr expect_multiple(const CallView& call, const PrimExpr& dim, int64_t factor,
                         const std::string& what) {
  const PrimExpr quotient = simplified(floordiv(dim, factor)),
                 whole = simplified(quotient * factor);
  const std::string expected = "a multiple of " + std::to_string(factor);
  if (provably_different(dim, whole)) call.error(what, expected, to_string(dim));
  if (!provably_equal(dim, whole)) {
    leave_open(call, {whole, dim, to_string(dim) + " as " + expected}, what, "provably " + expected,
               to_string(dim));
  }
  return quotient;
}

int64_t normalized_axis(const CallView& call, int64_t axis, int ndim) {
  int64_t front = axis < 0 ? axis + ndim : axis;
  if (front < 0 || front >= ndim) {
    call.error("axis is outside the tensor",
               "an axis from " + std::to_string(-ndim) + " to " + std::to_string(ndim - 1),
               std::to_string(axis));
  }
  return front;
}

std::vector<int64_t> normalized_axes(const CallView& call, const std::vector<int64_t>& axes,
                                     int ndim) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) result.push_back(normalized_axis(call, axis, ndim));
  if (axes.empty()) {
    for (int i = 0; i < ndim; ++i) result.push_back(i);
  }
  std::sort(result.begin(), result.end());
  auto repeated = std::adjacent_find(result.begin(), result.end());
  if (repeated != result.end()) {
    call.error("an axis is given twice", "distinct axes", std::to_string(*repeated));
  }
  return result;
}

namespace {
// In a strict call: leaves to run time whether a dimension is 1 or `extent`.
void check_broadcast_dim(const CallView& call, const PrimExpr& dim, const PrimExpr& extent) {
  leave_open(call, {arith::broadcast_dim(dim, extent), dim, "a dimension"},
             "shapes may not broadcast", "a dimension that is provably 1 or " + to_string(extent),
             to_string(dim));
}
}  // namespace

void expect_broadcast_dim(const CallView& call, const PrimExpr& dim, const PrimExpr& extent,
                          const std::string& what) {
  if (dim.is_int(1)) return;
  if (provably_different(dim, 1)) return expect_same_dim(call, dim, extent, what);
  if (!provably_equal(dim, extent)) check_broadcast_dim(call, dim, extent);
}

std::optional<Dims> broadcast(const CallView& call, const Dims& a, const Dims& b) {
  size_t rank = std::max(a.size(), b.size());
  Dims result(rank);
  bool known = true;
  for (size_t i = 1; i <= rank; ++i) {
    PrimExpr& out = result[rank - i];
    if (i > a.size() || i > b.size()) {
      out = i > a.size() ? b[b.size() - i] : a[a.size() - i];
      continue;
    }
    const PrimExpr& x = a[a.size() - i];
    const PrimExpr& y = b[b.size() - i];
    if (x.is_int(1)) {
      out = y;
    } else if (y.is_int(1) || provably_equal(x, y)) {
      out = x;
    } else if (x.is_int() && y.is_int()) {
      call.error("shapes do not broadcast", "equal dimensions, or one of them 1",
                 dims_text(a) + " and " + dims_text(b));
    } else if (x.is_int() || y.is_int()) {
      // The symbolic side must be 1 or equal, so the result is the constant.
      out = x.is_int() ? x : y;
      check_broadcast_dim(call, x.is_int() ? y : x, out);
    } else {
      known = false;
    }
  }
  if (!known) return std::nullopt;
  return result;
}

std::vector<PrimExpr> broadcast_index(const Dims& from, const Dims& to,
                                      const std::vector<Var>& out) {
  std::vector<PrimExpr> index;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t j = to.size() - from.size() + i;
    if (from[i].is_int(1)) {
      index.push_back(0);
    } else if (provably_equal(from[i], to[j])) {
      index.push_back(out[j]);
    } else {
      index.push_back(select(eq(from[i], 1), 0, out[j]));
    }
  }
  return index;
}

DType promoted(const CallView& call, DType a, DType b) {
  if (a == b) return a;
  if (!is_float(a) || !is_float(b)) {
    call.error("operands have different dtypes", "equal dtypes, or two float dtypes",
               std::string(dtype_name(a)) + " and " + dtype_name(b));
  }
  return a == DType::kF64 || b == DType::kF64 ? DType::kF64 : DType::kF32;
}

}  // namespace tapml::op
