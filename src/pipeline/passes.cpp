// The target-independent pipeline, every pass by name and in order.
#include "passes/dead_code.h"
#include "passes/legalize.h"
#include "passes/plan_memory.h"
#include "pipeline/compile.h"

namespace tapml::pipeline {

const std::vector<PassInfo>& pass_table() {
  static const std::vector<PassInfo> kPasses = {
      {"legalize", "legalize", "operators become kernels: a spec and loops", passes::legalize},
      {"dead_code", "fuse", "unused bindings and kernels go", passes::eliminate_dead_code},
      {"plan_memory", "plan", "storage made explicit and reused", passes::plan_memory},
  };
  return kPasses;
}

}  // namespace tapml::pipeline
