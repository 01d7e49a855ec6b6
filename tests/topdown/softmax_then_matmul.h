// A run of two kernels, and a trusted source's results for both together.
#pragma once

#include <cmath>

#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "topdown/suite/carve.h"
#include "topdown/suite/trusted_suite.h"

namespace tapml::topdown {

// Two kernels, since a softmax does not fuse with a matmul.
inline constexpr const char* kSoftmaxThenMatmul = R"(module
def main(x: Tensor((n, 8), f32), w: Tensor((8, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = softmax(x)
    b: Tensor((n, 4), f32) = matmul(a, w)
    output b
  }
  return b
})";

inline HostTensor filled(Shape shape, double scale) {
  HostTensor x = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, scale * static_cast<double>(i % 7 - 3));
  return x;
}

inline const HostTensor& second_operand() {
  static const HostTensor w = filled({8, 4}, 0.2);
  return w;
}

// For x f32[3, 8].
inline Suite carved_softmax_then_matmul() {
  auto session = testing::open_session("cpu");
  auto executable =
      pipeline::compile(text::parse(kSoftmaxThenMatmul, "m.txt"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, filled({3, 8}, 0.37))),
                                      unwrap(runtime::upload(*session, second_operand()))};
  unwrap(vm->call("main", args));
  vm->call_point().set_observer(nullptr);
  Suite suite = carver.take();
  suite.source = "cpu";
  return suite;
}

// The program in f64, multiplied by `scale`.
inline HostTensor trusted(const HostTensor& x, double scale = 1) {
  HostTensor y = HostTensor::zeros(DType::kF32, {3, 4});
  for (int64_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (int64_t k = 0; k < 8; ++k) sum += std::exp(x.at_f64(row * 8 + k));
    for (int64_t j = 0; j < 4; ++j) {
      double value = 0;
      for (int64_t k = 0; k < 8; ++k) {
        value += std::exp(x.at_f64(row * 8 + k)) / sum * second_operand().at_f64(k * 4 + j);
      }
      y.set_f64(row * 4 + j, scale * value);
    }
  }
  return y;
}

// Both calls as one group: x goes in, y comes out.
inline TrustedCalls both_calls(const HostTensor& x, const HostTensor& y) {
  TrustedCalls test;
  test.calls = {0, 1};
  test.inputs = {{{0, 0}, x, "input of softmax"}};
  test.links = {{{0, 1}, {1, 0}}};
  test.outputs = {{{1, 2}, y, "output of linear"}};
  return test;
}

// A suite of that group alone.
inline Suite suite_of_a_group(double scale = 1) {
  const HostTensor x = filled({3, 8}, -0.9);
  return trusted_suite(carved_softmax_then_matmul(), {both_calls(x, trusted(x, scale))}, "pytorch")
      .suite;
}

}  // namespace tapml::topdown
