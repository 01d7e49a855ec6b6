#include "fuzz/language/library_functions.h"

#include <tapml/library.h>

#include <cmath>

#include "abi/routine_signature.h"
#include "ir/exceptions.h"
#include "relax/expr.h"
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

constexpr const char* kCalls = R"(module
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

int64_t element_count(const DLTensor& tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.ndim; ++d) count *= tensor.shape[d];
  return count;
}

int32_t scale(const tapml_library_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  for (int64_t i = 0; i < element_count(call->outputs[0]); ++i) {
    y[i] = x[i] * static_cast<float>(call->parameters[0]);
  }
  return 0;
}

int32_t swiglu(const tapml_library_call* call) {
  const auto* gate = static_cast<const float*>(call->inputs[0].data);
  const auto* up = static_cast<const float*>(call->inputs[1].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  for (int64_t i = 0; i < element_count(call->outputs[0]); ++i) {
    y[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
  }
  return 0;
}

const tapml_routine kRoutines[] = {
    {"scale", scale, "x: f32[*s] -> y: f32[*s]; factor"},
    {"swiglu", swiglu, "gate: f32[*s], up: f32[*s] -> y: f32[*s]"},
};

}  // namespace

const Module& library_functions() {
  static const Module kModule = text::parse(kOperators, "operators");
  return kModule;
}

bool has_library_functions(const Module& module) {
  for (const auto& [name, function] : library_functions().functions) {
    if (module.find(name)) return true;
  }
  return false;
}

Module with_routine_calls(const Module& module) {
  static const Module kModule = text::parse(kCalls, "routines");
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

const tapml_library& routine_table() {
  static const tapml_library kTable = {
      TAPML_LIBRARY_VERSION, std::size(kRoutines), "fuzz", kRoutines, nullptr, nullptr};
  return kTable;
}

library::UserLibrary routine_library() {
  library::UserLibrary library{routine_table().name, {}};
  for (const tapml_routine& routine : kRoutines) {
    library.routines.emplace(routine.name,
                             unwrap(parse_routine_signature(routine.signature, routine.name)));
  }
  return library;
}

}  // namespace tapml::fuzz
