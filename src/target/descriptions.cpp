// One entry a platform. Limits here are what code may rely on before a device is asked.
#include "target/target.h"

namespace tapml::target {

namespace {

std::set<DType> all_dtypes() {
  return {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
          DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
          DType::kBF16, DType::kF32, DType::kF64};
}

// All dtypes are stored; f16 and bf16 are computed in f32.
Features f32_features() {
  Features features;
  features.storage_dtypes = all_dtypes();
  features.compute_dtypes = all_dtypes();
  features.compute_dtypes.erase(DType::kF16);
  features.compute_dtypes.erase(DType::kBF16);
  return features;
}

Description cpu() {
  Description d;
  d.platform = "cpu";
  d.doc = "the host's CPU: LLVM machine code on a thread pool";
  d.code = CodeKind::kNative;
  set_processor(d, host_processor());
  d.features = f32_features();
  return d;
}

Description opencl() {
  Description d;
  d.platform = "opencl";
  d.doc = "OpenCL C 1.2 on the first device of the first platform";
  d.code = CodeKind::kOpenClC;
  d.gpu_like = true;
  d.cpu_like_groups = true;
  d.workgroup_threads = 64;
  d.vector_bytes = 32;
  d.limits.max_workgroup_threads = 256;
  d.limits.max_local_memory = 32 << 10;
  d.features = f32_features();
  d.features.local_memory = true;
  return d;
}

// What every device of some years has; the limits are those that all must have, but for bindings,
// of which the standard asks for no more than four.
Description vulkan() {
  Description d;
  d.platform = "vulkan";
  d.doc = "GLSL compute shaders as SPIR-V 1.3 on the first Vulkan device";
  d.code = CodeKind::kGlsl;
  d.gpu_like = true;
  d.fused_fma = false;
  d.workgroup_threads = 64;
  d.index_bits = 32;
  d.limits.max_workgroup_threads = 128;
  d.limits.max_local_memory = 16 << 10;
  d.limits.max_binding_bytes = 128 << 20;
  d.limits.max_bindings = 24;
  d.limits.buffer_alignment = 256;
  d.features = f32_features();
  d.features.local_memory = true;
  return d;
}

// What every engine of the last years has; f16 is converted by integer arithmetic.
Description wasm() {
  Description d;
  d.platform = "wasm";
  d.doc = "WebAssembly with SIMD by LLVM, in a process of its own under Node.js";
  d.code = CodeKind::kNative;
  d.fused_fma = false;
  set_processor(
      d, {"wasm32", "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128"});
  d.features = f32_features();
  return d;
}

Description null() {
  Description d;
  d.platform = "null";
  d.doc = "checks and counts calls, computes nothing";
  d.features.storage_dtypes = all_dtypes();
  d.features.compute_dtypes = all_dtypes();
  return d;
}

}  // namespace

const std::vector<Description>& descriptions() {
  static const std::vector<Description> kDescriptions = {cpu(), opencl(), vulkan(), wasm(), null()};
  return kDescriptions;
}

}  // namespace tapml::target
