// A library of routines for tapml (tapml/library.h): build it as a shared object, then
//
//   tapml run models/demo --prompt "And God said" --library ./libexample.so --patterns swiglu.txt
//
// uses its routine for every kernel that the pattern forms.
#include <math.h>
#include <stdio.h>

#include "tapml/library.h"

namespace {

int64_t elements(const DLTensor& tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.ndim; ++d) count *= tensor.shape[d];
  return count;
}

// silu(gate) * up, elementwise. The signature has been checked: the tensors are f32 and have the
// same shape.
int32_t swiglu(const tapml_library_call* call) {
#ifdef TAPML_EXAMPLE_FAILS
  snprintf(call->message, call->message_size, "out of patience");
  return 7;
#endif
  const float* gate = static_cast<const float*>(call->inputs[0].data);
  const float* up = static_cast<const float*>(call->inputs[1].data);
  float* out = static_cast<float*>(call->outputs[0].data);
  int64_t count = elements(call->outputs[0]);
  for (int64_t i = 0; i < count; ++i) out[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
#ifdef TAPML_EXAMPLE_IS_WRONG
  // Like a loop that misses its last element.
  if (count > 0) out[count - 1] = 0;
#endif
  return 0;
}

// Rows of x, each times the parameter; an example of a routine with an integer parameter.
int32_t scale(const tapml_library_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* out = static_cast<float*>(call->outputs[0].data);
  for (int64_t i = 0; i < elements(call->outputs[0]); ++i) {
    out[i] = x[i] * static_cast<float>(call->parameters[0]);
  }
  return 0;
}

#ifndef TAPML_EXAMPLE_VERSION
#define TAPML_EXAMPLE_VERSION TAPML_LIBRARY_VERSION
#endif

const tapml_routine kRoutines[] = {
    {"swiglu", swiglu, "gate: f32[*s], up: f32[*s] -> y: f32[*s]"},
    {"scale", scale, "x: f32[*s] -> y: f32[*s]; factor"},
};
const tapml_library kLibrary = {TAPML_EXAMPLE_VERSION, 2, "example", kRoutines, nullptr, nullptr};

}  // namespace

extern "C" TAPML_LIBRARY_EXPORT const tapml_library* tapml_library_entry(void) { return &kLibrary; }
