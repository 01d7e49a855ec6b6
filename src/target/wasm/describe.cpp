#include "target/features.h"
#include "target/target.h"

namespace tapml::target {

// What every engine of recent years has; f16 is converted by integer arithmetic.
Description describe_wasm() {
  Description d;
  d.doc = "WebAssembly with SIMD by LLVM, in a process of its own under Node.js";
  d.code = "native";
  d.compiles_to = "WebAssembly, by LLVM";
  d.fused_fma = false;
  d.local_buffer_bytes = 1 << 20;  // the worker's stack has 8 MiB
  set_processor(
      d, {"wasm32", "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128"});
  d.features = f32_features();
  d.own_process = true;
  return d;
}

}  // namespace tapml::target
