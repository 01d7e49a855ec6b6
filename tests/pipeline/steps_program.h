// A program for which every step of a compilation has something to do.
#pragma once

#include <memory>
#include <string>

#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "text/parser.h"

namespace tapml::pipeline {

// A product with a weight, a softmax over columns, which needs scratch memory, and a chain.
inline constexpr const char* kStepsProgram = R"(module {model.weights: ["w"]}
def main(x: Tensor((n, 64), f32), w: Tensor((64, 64), f32)) -> Tensor((n, 64), f32) {
  dataflow {
    a: Tensor((n, 64), f32) = matmul(x, w) {transpose_b: true}
    b: Tensor((n, 64), f32) = softmax(a) {axis: 0}
    y: Tensor((n, 64), f32) = tanh(b)
    output y
  }
  return y
}
)";

inline std::shared_ptr<const Executable> compile_steps_program(
    const std::string& target, const ImplementOptions& options = {}) {
  return compile(text::parse(kStepsProgram, "program"), target::parse_target(target), options);
}

// The implementation of the kernel whose name begins with `name`.
inline const Implementation& implementation_of(const Executable& executable,
                                               const std::string& name) {
  for (size_t i = 0; i < executable.kernels.size(); ++i) {
    if (!executable.kernels[i].name.starts_with(name)) continue;
    return *executable.find_implementation(static_cast<int32_t>(i));
  }
  throw_internal("no kernel is called " + name);
}

}  // namespace tapml::pipeline
