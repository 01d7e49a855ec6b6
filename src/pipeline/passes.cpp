// Every step of a compilation as a row of the table, in order.
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
#include "passes/hoist_weight_prepacking.h"
#include "passes/inline_functions.h"
#include "passes/lambda_lift.h"
#include "passes/legalize.h"
#include "passes/lift_preparation.h"
#include "passes/lift_workspaces.h"
#include "passes/lower_storage.h"
#include "passes/mark_weights.h"
#include "passes/match.h"
#include "passes/name_shapes.h"
#include "passes/order_bindings.h"
#include "passes/partial_evaluate.h"
#include "passes/plan_memory.h"
#include "passes/simplify_graph.h"
#include "passes/split_wide_concat.h"
#include "pipeline/compile.h"
#include "pipeline/steps_for_target.h"

namespace tapml::pipeline {

namespace {

using Names = std::vector<const char*>;
using Table = std::vector<PassInfo>;

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

Names for_operators() {
  return {"lambda_lift", "decompose", "name_shapes", "split_wide_concat", "lower_storage"};
}
Names legal() { return with(for_operators(), {"legalize"}); }
// Groups of single kernels: without fuse_ops there are no fused groups.
Names kernels_only() { return with(legal(), {"fuse_tensor_ir"}); }

// Passes before the kernels are formed, the same for every target.
Table common_passes() {
  return {
      {.name = "insert_checks",
       .phase = "import",
       .doc = "check annotations that are stronger than the deduced ones",
       .run = build::insert_checks,
       .leaves = "annotations that hold"},
      {.name = "lambda_lift",
       .phase = "import",
       .doc = "lift closures to functions of the module",
       .run = passes::lambda_lift,
       .leaves = "no closures except those that only forward their values"},
      {.name = "match",
       .phase = "match",
       .doc = "turn what the module's patterns match into single kernels",
       .run = passes::match,
       .precondition =
           "operators, before legalize; nothing matches where the module has no patterns",
       .on_operators = true,
       .leaves = "kernels for the matches, and no patterns",
       .without = "matched operators stay separate"},
      {.name = "inline_functions",
       .phase = "simplify",
       .doc = "inline calls of functions marked inline",
       .run = passes::inline_functions,
       .precondition = "nothing; other functions than those marked {inline: true} stay",
       .leaves = "no calls of functions marked inline",
       .without = "these functions are called"},
      {.name = "simplify_graph",
       .phase = "simplify",
       .doc = "remove operators that have no effect, and merge operators",
       .run = passes::simplify_graph,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "fewer operators",
       .without = "operators without effect are computed"},
      {.name = "common_subexpressions",
       .phase = "simplify",
       .doc = "remove repeated computations",
       .run = passes::eliminate_common_subexpressions,
       .leaves = "no pure call that repeats an earlier one",
       .without = "repeated calls are computed again"},
      {.name = "fold_constants",
       .phase = "simplify",
       .doc = "evaluate operators on constants",
       .run = passes::fold_constants,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "no small operators on constants only",
       .without = "they are computed at run time"},
      {.name = "lift_preparation",
       .phase = "simplify",
       .doc = "move computations on weights alone into the function prepare, which runs once",
       .run = passes::lift_preparation,
       .precondition =
           "operators, before legalize; nothing changes where the module names no weights",
       .on_operators = true,
       .leaves = "a function prepare, whose results are parameters of the others"},
      {.name = "decompose",
       .phase = "simplify",
       .doc = "replace composite operators by simpler ones",
       .run = passes::decompose,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "operators that legalize supports"},
      {.name = "name_shapes",
       .phase = "simplify",
       .doc = "give values of unknown shape a symbolic shape",
       .run = passes::name_shapes,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "a shape for each operand of an operator"},
      {.name = "split_wide_concat",
       .phase = "simplify",
       .doc = "split wide concats into chains",
       .run = passes::split_wide_concat,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "concats of few tensors"},
      {.name = "lower_storage",
       .phase = "legalize",
       .doc = "lower views and writes to kernels",
       .run = passes::lower_storage,
       .precondition = "operators, after lambda_lift and name_shapes",
       .after = {"lambda_lift", "name_shapes"},
       .on_operators = true,
       .leaves = "no strided reads and writes outside tensor programs"},
      {.name = "legalize",
       .phase = "legalize",
       .doc = "lower operators to kernels: a spec and loops",
       .run = passes::legalize,
       .precondition = "lambda_lift, decompose, name_shapes, split_wide_concat and lower_storage",
       .after = for_operators(),
       .leaves = "calls of kernels instead of operators"},
      {.name = "annotate_patterns",
       .phase = "annotate",
       .doc = "find the pattern kind of every kernel from its loops",
       .run = passes::annotate_patterns,
       .precondition = "legalize",
       .after = legal(),
       .leaves = "a pattern kind on every tensor program of a kernel"},
      {.name = "fuse_ops",
       .phase = "fuse",
       .doc = "group kernels for fusion",
       .run = passes::fuse_ops,
       .precondition = "annotate_patterns",
       .after = with(legal(), {"annotate_patterns"}),
       .leaves = "groups of kernels: functions that call several",
       .without = "each operator is a separate kernel"},
      {.name = "fuse_tensor_ir",
       .phase = "fuse",
       .doc = "fuse each group into a single kernel",
       .run = passes::fuse_tensor_ir,
       .precondition = "fuse_ops",
       .after = with(legal(), {"annotate_patterns", "fuse_ops"}),
       .leaves = "single kernels"},
      {.name = "dead_parameters",
       .phase = "fuse",
       .doc = "remove unread parameters of private functions and kernels",
       .run = passes::remove_dead_parameters,
       .leaves = "no unread parameters except those of exported functions",
       .without = "they are passed"},
      {.name = "dead_code",
       .phase = "fuse",
       .doc = "remove unused bindings and kernels",
       .run = passes::eliminate_dead_code,
       .leaves = "only what exported functions need",
       .without = "unused values are computed"},
      {.name = "mark_weights",
       .phase = "fuse",
       .doc = "record which tensors of each kernel are weights",
       .run = passes::mark_weights,
       .precondition = "fuse_tensor_ir",
       .after = kernels_only(),
       .leaves = "kernels that name their weights; the kernels are formed"},
  };
}

// Steps for one target.
Table target_steps() {
  constexpr PassLevel kKernel = PassLevel::kKernel;
  return {
      {.name = "omit_unsupported",
       .phase = "implement",
       .doc = "remove optional functions with a dtype that the target lacks, and their kernels",
       .run_for = omit_unsupported_for,
       .precondition = "fuse_tensor_ir, and a target",
       .after = kernels_only(),
       .leaves = "kernels that the target computes, or that code generation refuses"},
      {.name = "unmark_weights",
       .phase = "implement",
       .doc = "treat weights like other tensors if hoist_weight_prepacking is skipped",
       .run = passes::unmark_weights,
       .leaves = "kernels that name no weights"},
      {.name = "list_kernels",
       .phase = "implement",
       .level = kKernel,
       .doc = "fill the executable's table of signatures, and reject kernels beyond the target's "
              "limits",
       .precondition = "kernels that are formed, and a target",
       .after = kernels_only(),
       .leaves = "a signature for each kernel"},
      {.name = "choose_routines",
       .phase = "implement",
       .level = kKernel,
       .doc = "implement kernels with library routines where these are faster",
       .precondition = "list_kernels",
       .after = kernels_only(),
       .leaves = "kernels without routines for the following steps",
       .without = "code is generated for every kernel"},
      {.name = "find_cached",
       .phase = "implement",
       .level = kKernel,
       .doc = "take the code of cached kernels from the cache",
       .precondition = "choose_routines",
       .after = kernels_only(),
       .leaves = "kernels that need code for the following steps",
       .without = "code is generated for every kernel and not cached"},
      {.name = "schedule",
       .phase = "implement",
       .level = kKernel,
       .doc = "schedule loops for the target",
       .run_for = schedule_for_target,
       .precondition = "fuse_tensor_ir, and a target",
       .after = kernels_only(),
       .leaves = "a sequence of loop nests, each of which becomes a launch",
       .without = "each kernel gets the fallback's schedule: one invocation an output element"},
      {.name = "segment",
       .phase = "implement",
       .level = kKernel,
       .doc = "split tensors above the target's binding limit into segments",
       .precondition = "schedule",
       .after = kernels_only(),
       .leaves = "two programs for kernels that may get both large and small tensors"},
      {.name = "lower_math",
       .phase = "implement",
       .level = kKernel,
       .doc = "replace functions that the target computes too imprecisely by polynomials",
       .run_for = lower_math_for_target,
       .precondition = "legalize, and a target",
       .after = legal(),
       .leaves = "functions that the target computes within 2 ULP"},
      {.name = "check_programs",
       .phase = "implement",
       .level = kKernel,
       .doc = "reject hand-written tensor programs that exceed the target's features",
       .run_for = check_programs_for_target,
       .precondition = "legalize, and a target",
       .after = legal(),
       .leaves = "programs that can be compiled"},
      {.name = "lower_launches",
       .phase = "implement",
       .level = kKernel,
       .doc = "replace blocks by their bodies, and split programs into launches and workspaces",
       .precondition = "schedule",
       .after = kernels_only(),
       .leaves = "launches of flat loops over simplified indices"},
      {.name = "narrow_indices",
       .phase = "implement",
       .level = kKernel,
       .doc = "narrow indices to 32 bits where the target prefers it and they fit",
       .precondition = "lower_launches",
       .after = kernels_only(),
       .leaves = "indices of the target's type, under limits that are checked at the launch"},
      {.name = "find_preparation",
       .phase = "implement",
       .level = kKernel,
       .doc = "find the launches that only pack weights",
       .precondition = "lower_launches",
       .after = kernels_only(),
       .leaves = "launches that run once, when weights are loaded"},
      {.name = "describe_launches",
       .phase = "implement",
       .level = kKernel,
       .doc = "turn extents, workspaces and limits of launches into programs over their scalars",
       .precondition = "find_preparation",
       .after = kernels_only(),
       .leaves = "the executable's entry for each implementation"},
      {.name = "record_requirements",
       .phase = "implement",
       .doc = "record what implementations require of the callers of their kernels",
       .precondition = "describe_launches",
       .after = kernels_only(),
       .leaves =
           "requirements on the tensor program of every kernel: workspace, in_place, prepared"},
      {.name = "lift_workspaces",
       .phase = "plan",
       .doc = "move the workspaces of kernels to their callers",
       .run = passes::lift_workspaces,
       .precondition = "fuse_tensor_ir",
       .after = kernels_only(),
       .leaves = "calls with the sizes of their workspaces",
       .without = "each kernel runner has its own workspaces"},
      {.name = "order_bindings",
       .phase = "plan",
       .doc = "reorder calls to reduce peak memory, if there is a memory limit",
       .run = passes::order_bindings,
       .precondition = "fuse_tensor_ir; not plan_memory",
       .after = kernels_only(),
       .leaves = "calls in another order"},
      {.name = "plan_memory",
       .phase = "plan",
       .doc = "make storage explicit, and reuse it",
       .run = passes::plan_memory,
       .precondition = "legalize, and fuse_tensor_ir where fuse_ops ran",
       .after = kernels_only(),
       .on_planned = true,
       .leaves = "storages and tensors in them",
       .without = "storage is explicit, but each tensor has its own"},
      {.name = "hoist_weight_prepacking",
       .phase = "plan",
       .doc = "pack weights once, in the function prepare",
       .run = passes::hoist_weight_prepacking,
       .precondition = "plan_memory; nothing changes where no kernel says what is packed",
       .after = with(kernels_only(), {"plan_memory"}),
       .on_planned = true,
       .leaves = "calls that take the weights packed by prepare",
       .without = "weights are not packed"},
      {.name = "generate_code",
       .phase = "generate",
       .level = PassLevel::kExecutable,
       .doc = "compile launches to the target's code, on threads",
       .precondition = "describe_launches",
       .after = kernels_only(),
       .leaves = "modules of code in the executable"},
      {.name = "lower_functions",
       .phase = "generate",
       .level = PassLevel::kExecutable,
       .doc = "lower graph-level functions to VM instructions",
       .precondition = "plan_memory",
       .after = kernels_only(),
       .leaves = "functions in the executable"},
  };
}

// Passes that are only called by name.
Table passes_by_name() {
  return {
      {.name = "a_normal_form",
       .phase = kByName,
       .doc = "turn nested expressions into bindings",
       .run = passes::a_normal_form,
       .precondition = "nothing; parsing a text module includes it",
       .leaves = "operands that are variables, constants, shapes, values and names"},
      {.name = "canonicalize",
       .phase = kByName,
       .doc = "rewrite equivalent forms to a canonical one",
       .run = passes::canonicalize,
       .leaves = "equal programs for equivalent forms"},
      {.name = "partial_evaluate",
       .phase = kByName,
       .doc = "evaluate branches and calls with a known outcome",
       .run = passes::partial_evaluate,
       .precondition = "nothing; operators are computed before legalize only",
       .leaves = "no branches and calls with a known outcome"},
      {.name = "defuse",
       .phase = kByName,
       .doc = "split fused kernels into kernels of single operators",
       .run = passes::defuse,
       .precondition = "fuse_tensor_ir",
       .after = kernels_only(),
       .leaves = "kernels of single operators"},
  };
}

}  // namespace

const char* pass_level_name(PassLevel level) {
  switch (level) {
    case PassLevel::kGraph:
      return "graph";
    case PassLevel::kKernel:
      return "kernel";
    case PassLevel::kExecutable:
      return "executable";
  }
  return "";
}

bool PassInfo::is_common() const {
  const std::string name = phase;
  return name != "implement" && name != "plan" && name != "generate" && name != kByName;
}

const std::vector<PassInfo>& pass_table() {
  static const Table kPasses = [] {
    Table all = common_passes();
    for (const Table& part : {target_steps(), passes_by_name()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kPasses;
}

const PassInfo* find_pass(const std::string& name) {
  for (const PassInfo& pass : pass_table()) {
    if (name == pass.name) return &pass;
  }
  return nullptr;
}

}  // namespace tapml::pipeline
