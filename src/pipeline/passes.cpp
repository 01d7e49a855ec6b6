// The target-independent pipeline, every pass by name and in order.
#include "build/insert_checks.h"
#include "passes/a_normal_form.h"
#include "passes/canonicalize.h"
#include "passes/common_subexpressions.h"
#include "passes/dead_code.h"
#include "passes/dead_parameters.h"
#include "passes/decompose.h"
#include "passes/defuse.h"
#include "passes/fold_constants.h"
#include "passes/fuse_ops.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/inline_functions.h"
#include "passes/lambda_lift.h"
#include "passes/legalize.h"
#include "passes/lift_packing.h"
#include "passes/lift_preparation.h"
#include "passes/lift_workspaces.h"
#include "passes/lower_storage.h"
#include "passes/mark_weights.h"
#include "passes/match.h"
#include "passes/name_shapes.h"
#include "passes/order_bindings.h"
#include "passes/outline_bindings.h"
#include "passes/partial_evaluate.h"
#include "passes/plan_memory.h"
#include "passes/simplify_graph.h"
#include "passes/split_wide_concat.h"
#include "pipeline/compile.h"

namespace tapml::pipeline {

namespace {

using Names = std::vector<const char*>;

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

}  // namespace

const std::vector<PassInfo>& pass_table() {
  static const Names kForOperators = {"lambda_lift", "decompose", "name_shapes",
                                      "split_wide_concat", "lower_storage"};
  static const Names kLegal = with(kForOperators, {"legalize"});
  // Groups are single kernels; where fuse_ops did not run there are none.
  static const Names kKernelsOnly = with(kLegal, {"fuse_tensor_ir"});
  static const std::vector<PassInfo> kPasses = {
      {"insert_checks", "import", "annotations that say more than deduction are checked",
       build::insert_checks, "nothing"},
      {"lambda_lift", "import", "closures become functions of the module", passes::lambda_lift,
       "nothing"},
      {"match",
       "match",
       "what the module's patterns match becomes single kernels",
       passes::match,
       "operators, before legalize; nothing matches where the module has no patterns",
       {},
       true},
      {"inline_functions", "simplify", "calls of functions marked inline become their bodies",
       passes::inline_functions, "nothing; other functions than those marked {inline: true} stay"},
      {"simplify_graph",
       "simplify",
       "operators that change nothing or merge",
       passes::simplify_graph,
       "operators, before legalize",
       {},
       true},
      {"common_subexpressions", "simplify", "what is computed twice is computed once",
       passes::eliminate_common_subexpressions, "nothing"},
      {"fold_constants",
       "simplify",
       "operators on constants become constants",
       passes::fold_constants,
       "operators, before legalize",
       {},
       true},
      {"lift_preparation",
       "simplify",
       "what weights alone decide is computed once, by prepare",
       passes::lift_preparation,
       "operators, before legalize; nothing changes where the module names no weights",
       {},
       true},
      {"decompose",
       "simplify",
       "operators made of simpler ones are replaced by these",
       passes::decompose,
       "operators, before legalize",
       {},
       true},
      {"name_shapes",
       "simplify",
       "what has an unknown shape gets a symbolic one",
       passes::name_shapes,
       "operators, before legalize",
       {},
       true},
      {"split_wide_concat",
       "simplify",
       "wide concats become chains",
       passes::split_wide_concat,
       "operators, before legalize",
       {},
       true},
      {"lower_storage",
       "legalize",
       "views and writes become kernels",
       passes::lower_storage,
       "operators, after lambda_lift and name_shapes",
       {"lambda_lift", "name_shapes"},
       true},
      {"legalize", "legalize", "operators become kernels: a spec and loops", passes::legalize,
       "lambda_lift, decompose, name_shapes, split_wide_concat and lower_storage", kForOperators},
      {"annotate_patterns", "annotate", "pattern kinds from the loops of every kernel",
       passes::annotate_patterns, "legalize", kLegal},
      {"fuse_ops", "fuse", "kernels that belong together are grouped", passes::fuse_ops,
       "annotate_patterns", with(kLegal, {"annotate_patterns"})},
      {"fuse_tensor_ir", "fuse", "groups become single kernels", passes::fuse_tensor_ir, "fuse_ops",
       with(kLegal, {"annotate_patterns", "fuse_ops"})},
      {"dead_parameters", "fuse",
       "parameters of private functions and kernels that nothing reads go",
       passes::remove_dead_parameters, "nothing"},
      {"dead_code", "fuse", "unused bindings and kernels go", passes::eliminate_dead_code,
       "nothing"},
      {"mark_weights", "fuse", "kernels learn which of their tensors are weights",
       passes::mark_weights, "fuse_tensor_ir", kKernelsOnly},
      {"lift_workspaces", "plan", "scratch memory of kernels becomes their callers'",
       passes::lift_workspaces, "fuse_tensor_ir", kKernelsOnly},
      {"plan_memory", "plan", "storage made explicit and reused", passes::plan_memory,
       "legalize, and fuse_tensor_ir where fuse_ops ran", kKernelsOnly, false, true},
      {"lift_packing", "plan", "what implementations pack of weights is made once, by prepare",
       passes::lift_packing, "plan_memory; nothing changes where no kernel says what is packed",
       with(kKernelsOnly, {"plan_memory"}), false, true},
      {"a_normal_form", kByName, "nested expressions become bindings", passes::a_normal_form,
       "nothing: a text module is read through it"},
      {"canonicalize", kByName, "one way to write what can be written in several",
       passes::canonicalize, "nothing"},
      {"partial_evaluate", kByName, "what is decided already is done at compile time",
       passes::partial_evaluate, "nothing; operators are computed before legalize only"},
      {"order_bindings", kByName, "calls come in an order that needs less memory at a time",
       passes::order_bindings, "fuse_tensor_ir; not plan_memory", kKernelsOnly},
      {"outline_bindings", kByName, "bindings that the attribute outline names become functions",
       passes::outline_bindings,
       "nothing; other functions than those marked {outline: [\"name = first..last\"]} stay"},
      {"defuse", kByName, "kernels of several operators become kernels of one", passes::defuse,
       "fuse_tensor_ir", kKernelsOnly},
  };
  return kPasses;
}

const std::vector<std::string>& optional_passes() {
  static const std::vector<std::string> kOptional = {
      "match",          "inline_functions", "simplify_graph", "common_subexpressions",
      "fold_constants", "fuse_ops",         "dead_code",      "dead_parameters"};
  return kOptional;
}

}  // namespace tapml::pipeline
