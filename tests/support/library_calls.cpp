#include "support/library_calls.h"

#include "relax/expr.h"
#include "text/parser.h"

namespace tapml::testing {

namespace {

constexpr const char* kRoutines = R"(module
def library_scale(x: Tensor((n, m), f32)) -> Tensor((n, m), f32) {
  y: Tensor((n, m), f32) = call_dps_library(extern "scale", (x,), Tensor((n, m), f32)) {parameters: [3]}
  return y
}
def library_swiglu(gate: Tensor((n, m), f32), up: Tensor((n, m), f32)) -> Tensor((n, m), f32) {
  dataflow {
    y: Tensor((n, m), f32) = call_dps_library(extern "swiglu", (gate, up), Tensor((n, m), f32))
    output y
  }
  return y
}
)";

}  // namespace

Module with_library_calls(const Module& module) {
  static const Module kModule = text::parse(kRoutines, "routines");
  Module result = module;
  for (const auto& [name, routine] : kModule.functions) {
    const BaseFunction* function = module.find(name);
    if (!function) continue;
    auto calling = std::make_shared<relax::Function>(*relax::as_relax_function(routine.get()));
    calling->facts = function->facts;
    calling->attrs = function->attrs;
    result.functions[name] = std::move(calling);
  }
  return result;
}

}  // namespace tapml::testing
