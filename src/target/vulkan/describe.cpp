#include "target/features.h"
#include "target/target.h"

namespace tapml::target {

// What every device of recent years has; limits are the required minimums, except for bindings, of
// which the standard requires only four.
Description describe_vulkan() {
  Description d;
  d.doc = "GLSL compute shaders as SPIR-V 1.3 on the first Vulkan device";
  d.code = "glsl";
  d.compiles_to = "GLSL, to SPIR-V";
  d.gpu_like = true;
  d.lanes_on_processors = true;
  d.fused_fma = false;
  d.workgroup_threads = 64;
  d.index_bits = 32;
  d.local_buffer_bytes = 64 << 10;
  d.limits.max_workgroup_threads = 128;
  d.limits.max_local_memory = 16 << 10;
  d.limits.max_binding_bytes = 128 << 20;
  d.limits.max_bindings = 24;
  d.limits.buffer_alignment = 256;
  d.features = f32_features();
  d.features.local_memory = true;
  d.options = {"device", "f16", "for", "groups", "schedule", "subgroups", "validation"};
  // GLSL: division within 2.5 ULP, inverse square roots within 2.
  d.allowances.relaxed_division = true;
  d.kernel_language = {"GLSL", ".comp"};
  return d;
}

}  // namespace tapml::target
