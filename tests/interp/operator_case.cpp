#include "operator_case.h"

#include <cmath>

#include "arith/evaluate.h"
#include "base/rng.h"
#include "relax/expr.h"

namespace tapml::testing {

HostTensor random_tensor(DType dtype, Shape shape, const std::string& name, double low,
                         double high) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  RandomStream stream(7, name);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double value = low + (high - low) * stream.unit();
    tensor.set_f64(i, is_float(dtype) ? value : std::floor(value));
  }
  return tensor;
}

HostTensor tensor_of(DType dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  EXPECT_EQ(static_cast<size_t>(tensor.size()), values.size());
  for (size_t i = 0; i < values.size(); ++i) tensor.set_f64(static_cast<int64_t>(i), values[i]);
  return tensor;
}

namespace {

// Dimensions as constants, or as one variable for each extent.
class DimMaker {
 public:
  explicit DimMaker(bool symbolic) : symbolic_(symbolic) {}
  PrimExpr operator()(int64_t extent) {
    if (!symbolic_ || extent == 1) return extent;
    auto [it, is_new] = vars_.try_emplace(extent);
    if (is_new) {
      it->second = make_var("n" + std::to_string(extent));
      values[it->second.get()] = extent;
    }
    return it->second;
  }
  Dims operator()(const std::vector<int64_t>& extents) {
    Dims dims;
    for (int64_t extent : extents) dims.push_back((*this)(extent));
    return dims;
  }
  arith::Values values;

 private:
  bool symbolic_;
  std::map<int64_t, PrimExpr> vars_;
};

struct BuiltCall {
  std::vector<relax::Variable> params;
  std::vector<HostTensor> tensors;
  relax::Expr call;

  BuiltCall(const OperatorCase& test, DimMaker& dims) {
    std::vector<relax::Expr> args;
    auto add_tensor = [&](const HostTensor& tensor) {
      auto annotation = relax::tensor_annotation(dims(tensor.shape()), tensor.dtype());
      params.push_back(relax::make_variable("x" + std::to_string(params.size()), annotation));
      tensors.push_back(tensor);
      return params.back();
    };
    for (const Argument& arg : test.args) {
      if (const auto* tensor = std::get_if<HostTensor>(&arg)) {
        args.push_back(add_tensor(*tensor));
      } else if (const auto* shape = std::get_if<std::vector<int64_t>>(&arg)) {
        args.push_back(relax::make_shape(dims(*shape)));
      } else {
        std::vector<relax::Expr> fields;
        for (const HostTensor& field : std::get<std::vector<HostTensor>>(arg)) {
          fields.push_back(add_tensor(field));
        }
        args.push_back(relax::make_tuple(std::move(fields)));
      }
    }
    call = relax::make_op_call(test.op, std::move(args), test.attrs);
  }
  const relax::CallNode& node() const { return *relax::as<relax::CallNode>(call); }
};

}  // namespace

std::vector<op::RefTensor> run_reference(const OperatorCase& test) {
  DimMaker dims(false);
  BuiltCall built(test, dims);
  relax::Annotation annotation = op::deduce(built.node());
  relax::Variable result = relax::make_variable("y", annotation);
  relax::Block block{.dataflow = false, .bindings = {{result, built.call, nullptr, {}}}};
  Module module;
  module.functions["f"] =
      relax::make_function(built.params, relax::make_seq({block}, result), annotation);
  std::vector<interp::Value> args;
  for (const HostTensor& tensor : built.tensors) {
    args.push_back(interp::Value::tensor(op::RefTensor::from(tensor)));
  }
  interp::Value value = interp::call(module, "f", args);
  if (annotation->kind == relax::AnnotationKind::kTensor) return {value.as_tensor()};
  std::vector<op::RefTensor> outputs;
  for (const interp::Value& field : value.as_tuple()) outputs.push_back(field.as_tensor());
  return outputs;
}

std::vector<HostTensor> run_legalized(const OperatorCase& test, bool symbolic) {
  DimMaker dims(symbolic);
  BuiltCall built(test, dims);
  op::CallView view = op::view_call(built.node());
  tir::PrimFuncRef func = view.info.legalize(view);
  std::vector<HostTensor> params;
  std::vector<size_t> written;
  for (size_t i = 0; i < func->params.size(); ++i) {
    const tir::Param& param = func->params[i];
    if (param.mode != AccessMode::kIn) written.push_back(i);
    Shape shape;
    for (const PrimExpr& dim : param.buffer->shape) {
      shape.push_back(*arith::evaluate(dim, dims.values));
    }
    HostTensor fresh = HostTensor::zeros(param.buffer->dtype, shape);
    if (i < built.tensors.size()) {
      auto from = built.tensors[i].bytes();
      std::copy(from.begin(), from.end(), fresh.mutable_bytes().begin());
    } else {
      for (std::byte& byte : fresh.mutable_bytes()) byte = std::byte{0x7f};
    }
    params.push_back(fresh);
  }
  std::vector<int64_t> scalars;
  for (const Var& var : func->scalars) scalars.push_back(dims.values.at(var.get()));
  interp::run_prim_func(*func, params, scalars);
  std::vector<HostTensor> outputs;
  for (size_t i : written) outputs.push_back(params[i]);
  return outputs;
}

double expect_within_bounds(const OperatorCase& test) {
  double worst = 0;
  std::vector<op::RefTensor> expected = run_reference(test);
  for (bool symbolic : {false, true}) {
    std::vector<HostTensor> found = run_legalized(test, symbolic);
    EXPECT_EQ(found.size(), expected.size()) << test.op;
    if (found.size() != expected.size()) return kNan;
    for (size_t o = 0; o < found.size(); ++o) {
      const auto problem = outside_bound(found[o], expected[o], test.open, &worst);
      EXPECT_FALSE(problem) << test.op << (symbolic ? " symbolic" : " static") << " output " << o
                            << " " << *problem;
      if (problem) return kNan;
    }
  }
  return worst;
}

}  // namespace tapml::testing
