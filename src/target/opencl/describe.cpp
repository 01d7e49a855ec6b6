#include "target/features.h"
#include "target/target.h"

namespace tapml::target {

Description describe_opencl() {
  Description d;
  d.doc = "OpenCL C 1.2 on the first device of the first platform";
  d.code = "opencl-c";
  d.compiles_to = "OpenCL C";
  d.gpu_like = true;
  d.cpu_like_groups = true;
  d.workgroup_threads = 64;
  d.vectors.bytes = 32;
  d.limits.max_workgroup_threads = 256;
  d.limits.max_local_memory = 32 << 10;
  d.features = f32_features();
  d.features.local_memory = true;
  d.options = {"device", "f16", "for", "groups", "index", "schedule", "subgroups"};
  // OpenCL C: division within 2.5 ULP, square roots within 3.
  d.allowances.relaxed_division = true;
  d.kernel_language = {"OpenCL C", ".cl"};
  return d;
}

}  // namespace tapml::target
