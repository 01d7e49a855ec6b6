#include "target/features.h"
#include "target/target.h"

namespace tapml::target {

// WebGPU's default limits, which every browser grants. Code has words only: integers of 64 bits are
// pairs of them, those of 8 and 16 bits and narrow floats are parts of them in memory.
Description describe_webgpu() {
  Description d;
  d.doc = "WGSL compute shaders on WebGPU, in a tab of a browser";
  d.code = "wgsl";
  d.compiles_to = "WGSL";
  d.gpu_like = true;
  d.lanes_on_processors = true;
  d.short_code_on_processors = true;
  d.own_process = true;
  d.fused_fma = false;
  d.workgroup_threads = 64;
  d.index_bits = 32;
  d.local_buffer_bytes = 8 << 10;  // of a function's variables, by the language's limits
  d.limits.max_workgroup_threads = 256;
  d.limits.max_local_memory = (16 << 10) - 16;  // the rest is the helpers' (wgsl_helpers.cpp)
  d.limits.max_binding_bytes = 128 << 20;
  d.limits.max_bindings = 8;
  d.limits.buffer_alignment = 256;
  d.features = f32_features();
  d.features.storage_dtypes.erase(DType::kF64);
  d.features.compute_dtypes.erase(DType::kF64);
  d.features.narrow_stores = false;
  d.features.local_memory = true;
  d.options = {"groups", "schedule"};
  // WGSL: division within 2.5 ULP, inverse square roots within 2.
  d.allowances.relaxed_division = true;
  return d;
}

}  // namespace tapml::target
