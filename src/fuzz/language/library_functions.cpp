#include "fuzz/language/library_functions.h"

#include "text/parser.h"

namespace tapml::fuzz {

namespace {

constexpr const char* kOperators = R"(module
def library_scale(x: Tensor((n, m), f32)) -> Tensor((n, m), f32) {
  y: Tensor((n, m), f32) = multiply(x, const(f32, (), [3.0]))
  return y
}
def library_swiglu(gate: Tensor((n, m), f32), up: Tensor((n, m), f32)) -> Tensor((n, m), f32) {
  dataflow {
    a: Tensor((n, m), f32) = silu(gate)
    y: Tensor((n, m), f32) = multiply(a, up)
    output y
  }
  return y
}
)";

}  // namespace

const Module& library_functions() {
  static const Module kModule = text::parse(kOperators, "operators");
  return kModule;
}

}  // namespace tapml::fuzz
