// The target-independent pipeline, every pass by name and in order.
#include "build/insert_checks.h"
#include "passes/chain_concat.h"
#include "passes/common_subexpressions.h"
#include "passes/dead_code.h"
#include "passes/decompose.h"
#include "passes/fold_constants.h"
#include "passes/fuse_ops.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/inline_functions.h"
#include "passes/lambda_lift.h"
#include "passes/legalize.h"
#include "passes/lift_workspaces.h"
#include "passes/match.h"
#include "passes/name_shapes.h"
#include "passes/plan_memory.h"
#include "passes/simplify_graph.h"
#include "pipeline/compile.h"

namespace tapml::pipeline {

const std::vector<PassInfo>& pass_table() {
  static const std::vector<PassInfo> kPasses = {
      {"insert_checks", "import", "annotations that say more than deduction are checked",
       build::insert_checks},
      {"lambda_lift", "import", "closures become functions of the module", passes::lambda_lift},
      {"match", "match", "what the module's patterns match becomes single kernels", passes::match},
      {"inline_functions", "simplify", "calls of functions marked inline become their bodies",
       passes::inline_functions},
      {"simplify_graph", "simplify", "operators that change nothing or merge",
       passes::simplify_graph},
      {"common_subexpressions", "simplify", "what is computed twice is computed once",
       passes::eliminate_common_subexpressions},
      {"fold_constants", "simplify", "operators on constants become constants",
       passes::fold_constants},
      {"decompose", "simplify", "operators made of simpler ones are replaced by these",
       passes::decompose},
      {"name_shapes", "simplify", "what has an unknown shape gets a symbolic one",
       passes::name_shapes},
      {"chain_concat", "simplify", "wide concats become chains", passes::chain_concat},
      {"legalize", "legalize", "operators become kernels: a spec and loops", passes::legalize},
      {"annotate_patterns", "annotate", "pattern kinds from the loops of every kernel",
       passes::annotate_patterns},
      {"fuse_ops", "fuse", "kernels that belong together are grouped", passes::fuse_ops},
      {"fuse_tensor_ir", "fuse", "groups become single kernels", passes::fuse_tensor_ir},
      {"dead_code", "fuse", "unused bindings and kernels go", passes::eliminate_dead_code},
      {"lift_workspaces", "plan", "scratch memory of kernels becomes their callers'",
       passes::lift_workspaces},
      {"plan_memory", "plan", "storage made explicit and reused", passes::plan_memory},
  };
  return kPasses;
}

}  // namespace tapml::pipeline
