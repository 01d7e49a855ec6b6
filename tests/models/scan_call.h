// A call of a scan, the tensor program of a recurrent model, in the reference evaluator.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "models/interpreted_text.h"

namespace tapml {

inline HostTensor uniform(std::mt19937& random, const Shape& shape, double low, double high) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, shape);
  std::uniform_real_distribution<double> value(low, high);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, value(random));
  return tensor;
}

// The result f32 of shape `out` and the state afterwards; the last of `args` is the state.
inline interp::Value call_scan(Module module, const std::string& scan,
                               const std::vector<interp::Value>& args, const Shape& out) {
  build::FunctionBuilder builder(module);
  std::vector<relax::Expr> params;
  for (const interp::Value& arg : args) {
    const Shape shape = arg.as_tensor().shape;
    params.push_back(builder.param(
        "x", relax::tensor_annotation(Dims(shape.begin(), shape.end()), arg.as_tensor().dtype)));
  }
  builder.begin_dataflow();
  const relax::Variable both = builder.emit(
      relax::make_op_call("call_tir_inplace", {relax::make_global(scan), relax::make_tuple(params)},
                          {{"inout_indices", std::vector<int64_t>{-1, std::ssize(args) - 1}}},
                          {relax::tensor_annotation(Dims(out.begin(), out.end()), DType::kF32),
                           relax::annotation_of(params.back())}),
      "both", true);
  module.functions["scan"] = builder.finish(both);
  return interp::call(module, "scan", args);
}

}  // namespace tapml
