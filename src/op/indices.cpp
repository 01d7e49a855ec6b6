#include "op/indices.h"

namespace tapml::op {

void expect_index_dtype(const CallView& call, const Known& indices, const std::string& what) {
  if (!indices.dtype || *indices.dtype == DType::kI32 || *indices.dtype == DType::kI64) return;
  call.error(what + " have the wrong dtype", "i32 or i64", dtype_name(*indices.dtype));
}

void expect_index_dtype(const CallView& call, size_t argument) {
  expect_index_dtype(call, known_tensor(call, argument), call.info.args[argument].name);
}

int64_t index_depth(const CallView& call, const Dims& indices, int ndim) {
  const PrimExpr& depth = indices.back();
  if (!depth.is_int() || depth->int_value < 0 || depth->int_value > ndim) {
    call.error("the last dimension of the indices is not a number of axes of x",
               "a constant of at most " + std::to_string(ndim), to_string(depth));
  }
  return depth->int_value;
}

AxisIndex axis_index(const tir::Buffer& indices, std::vector<PrimExpr> at, const PrimExpr& dim) {
  PrimExpr given = load_index(indices, std::move(at));
  PrimExpr index = select(lt(given, 0), given + dim, given);
  return {index, logical_and(le(0, index), lt(index, dim))};
}

}  // namespace tapml::op
