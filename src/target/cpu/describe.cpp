#include "target/features.h"
#include "target/target.h"

namespace tapml::target {

Description describe_cpu() {
  Description d;
  d.doc = "the host's CPU: LLVM machine code on a thread pool";
  d.code = "native";
  d.compiles_to = "machine code, by LLVM";
  set_processor(d, host_processor());
  d.local_buffer_bytes = 1 << 20;  // threads have stacks of 8 MiB, those of some systems of 2
  d.features = f32_features();
  d.options = {"arch", "features", "libs", "threads"};
  d.kernel_language = {"C", ".c"};
  d.library_routines = true;
  return d;
}

}  // namespace tapml::target
