#include "op/lowering.h"

#include <cmath>
#include <limits>

#include "ir/exceptions.h"

namespace tapml::op {

namespace {

tir::Buffer argument_buffer(const CallView& call, const std::string& name,
                            const relax::Annotation& annotation) {
  const auto* tensor = relax::as_tensor(annotation);
  if (!tensor || !tensor->shape || !tensor->dtype) {
    call.error("argument '" + name + "' is not known well enough to make a tensor program",
               "a tensor of known shape and dtype", to_string(annotation));
  }
  return tir::make_buffer(name, *tensor->dtype, *tensor->shape);
}

}  // namespace

Lowering::Lowering(const CallView& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    const ArgumentSpec& spec = call.info.args[i];
    args_.emplace_back();
    if (spec.kind == ArgumentKind::kTensor) {
      args_[i].push_back(argument_buffer(call, spec.name, call.annotations[i]));
    } else if (spec.kind == ArgumentKind::kTensors) {
      const auto* tuple = relax::as_tuple(call.annotations[i]);
      if (!tuple) call.error("the number of tensors is not known", "a tuple of tensors");
      for (size_t f = 0; f < tuple->fields.size(); ++f) {
        args_[i].push_back(argument_buffer(call, spec.name + std::to_string(f), tuple->fields[f]));
      }
    }
    bool inout = false;
    for (int64_t target : call.info.inout) inout |= target == static_cast<int64_t>(i);
    for (const tir::Buffer& buffer : args_[i]) {
      params_.push_back({buffer, inout ? AccessMode::kInOut : AccessMode::kIn});
    }
  }
}

const tir::Buffer& Lowering::arg(size_t index, size_t field) const { return args_[index][field]; }

tir::Buffer Lowering::output(const std::string& name, Dims shape, DType dtype) {
  tir::Buffer buffer = tir::make_buffer(name, dtype, std::move(shape));
  params_.push_back({buffer, AccessMode::kOut});
  return buffer;
}

tir::Buffer Lowering::workspace(const std::string& name, Dims shape, DType dtype) {
  workspaces_.push_back(tir::make_buffer(name, dtype, std::move(shape)));
  return workspaces_.back();
}

tir::PrimFuncRef Lowering::finish() {
  tir::Stmt body = tir::make_seq(std::move(stmts_));
  for (size_t i = workspaces_.size(); i-- > 0;) body = tir::make_alloc(workspaces_[i], body);
  return tir::make_prim_func(std::move(params_), std::move(body));
}

relax::TensorAnnotation known_result(const CallView& call, const relax::Annotation& result) {
  const auto* tensor = relax::as_tensor(result);
  if (!tensor || !tensor->shape || !tensor->dtype) {
    call.error("the result is not known well enough to make a tensor program",
               "a result of known shape and dtype", to_string(result));
  }
  return *tensor;
}

PrimExpr load_wide(const tir::Buffer& buffer, std::vector<PrimExpr> indices) {
  return cast(accumulation_dtype(buffer->dtype), tir::load(buffer, std::move(indices)));
}

PrimExpr load_index(const tir::Buffer& buffer, std::vector<PrimExpr> indices) {
  return cast(DType::kI64, tir::load(buffer, std::move(indices)));
}

namespace {

// Converts a constant of the program: truncates toward zero, then clamps to the range of the dtype.
int64_t integer_constant(double value, DType dtype) {
  HostTensor one = HostTensor::zeros(dtype, {1});
  one.set_f64(0, std::trunc(value));
  return dtype_bytes(dtype) == 8 ? one.values<int64_t>()[0] : static_cast<int64_t>(one.at_f64(0));
}

}  // namespace

PrimExpr number(double value, DType dtype) {
  if (is_float(dtype)) return make_float(value, dtype);
  return make_int(integer_constant(value, dtype), dtype);
}

PrimExpr lowest(DType dtype) {
  if (is_float(dtype)) return make_float(-std::numeric_limits<double>::infinity(), dtype);
  if (is_unsigned_integer(dtype) || dtype == DType::kBool) return make_int(0, dtype);
  return make_int(std::numeric_limits<int64_t>::min() >> (64 - dtype_bits(dtype)), dtype);
}

PrimExpr highest(DType dtype) {
  if (is_float(dtype)) return make_float(std::numeric_limits<double>::infinity(), dtype);
  if (dtype == DType::kBool) return make_int(1, dtype);
  // All bits except the sign; for u64 the bits of -1.
  int bits = dtype_bits(dtype) - (is_signed_integer(dtype) ? 1 : 0);
  return make_int(static_cast<int64_t>(~uint64_t{0} >> (64 - bits)), dtype);
}

void add_reduction(
    Lowering& lowering, const std::string& name, const tir::Buffer& out, DType accumulation,
    const Dims& extents, const PrimExpr& init,
    const std::function<PrimExpr(PrimExpr, PrimExpr)>& combine,
    const std::function<PrimExpr(const std::vector<Var>&, const std::vector<Var>&)>& term,
    const std::function<PrimExpr(PrimExpr)>& finish) {
  bool direct = out->dtype == accumulation && !finish;
  tir::Buffer total = direct ? out : lowering.workspace(name + "_total", out->shape, accumulation);
  lowering.add(tir::reduce(name, total, extents, init, combine, term));
  if (direct) return;
  lowering.add(tir::compute(name + "_out", out, [&](const std::vector<Var>& i) {
    PrimExpr value = tir::load(total, i);
    return cast(out->dtype, finish ? finish(value) : value);
  }));
}

PrimExpr sum_of(PrimExpr a, PrimExpr b) { return std::move(a) + std::move(b); }
PrimExpr max_of(PrimExpr a, PrimExpr b) { return max(std::move(a), std::move(b)); }

}  // namespace tapml::op
