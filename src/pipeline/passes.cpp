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
#include "passes/outline_bindings.h"
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
       .doc = "annotations that say more than deduction are checked",
       .run = build::insert_checks,
       .leaves = "annotations that hold"},
      {.name = "lambda_lift",
       .phase = "import",
       .doc = "closures become functions of the module",
       .run = passes::lambda_lift,
       .leaves = "no closures but those that only pass on"},
      {.name = "match",
       .phase = "match",
       .doc = "what the module's patterns match becomes single kernels",
       .run = passes::match,
       .precondition =
           "operators, before legalize; nothing matches where the module has no patterns",
       .on_operators = true,
       .leaves = "kernels of what matched, and no patterns",
       .without = "the operators that patterns match stay apart"},
      {.name = "inline_functions",
       .phase = "simplify",
       .doc = "calls of functions marked inline become their bodies",
       .run = passes::inline_functions,
       .precondition = "nothing; other functions than those marked {inline: true} stay",
       .leaves = "no calls of functions marked inline",
       .without = "such functions are called"},
      {.name = "simplify_graph",
       .phase = "simplify",
       .doc = "operators that change nothing or merge",
       .run = passes::simplify_graph,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "fewer operators",
       .without = "operators that change nothing are computed"},
      {.name = "common_subexpressions",
       .phase = "simplify",
       .doc = "what is computed twice is computed once",
       .run = passes::eliminate_common_subexpressions,
       .leaves = "no pure call that repeats one computed before it",
       .without = "it is computed twice"},
      {.name = "fold_constants",
       .phase = "simplify",
       .doc = "operators on constants become constants",
       .run = passes::fold_constants,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "no small operators on constants alone",
       .without = "they are computed at run time"},
      {.name = "lift_preparation",
       .phase = "simplify",
       .doc = "what weights alone decide is computed once, by prepare",
       .run = passes::lift_preparation,
       .precondition =
           "operators, before legalize; nothing changes where the module names no weights",
       .on_operators = true,
       .leaves = "a function prepare, whose results are parameters of the others"},
      {.name = "decompose",
       .phase = "simplify",
       .doc = "operators made of simpler ones are replaced by these",
       .run = passes::decompose,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "operators that legalize knows"},
      {.name = "name_shapes",
       .phase = "simplify",
       .doc = "what has an unknown shape gets a symbolic one",
       .run = passes::name_shapes,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "a shape for each operand of an operator"},
      {.name = "split_wide_concat",
       .phase = "simplify",
       .doc = "wide concats become chains",
       .run = passes::split_wide_concat,
       .precondition = "operators, before legalize",
       .on_operators = true,
       .leaves = "concats of few tensors"},
      {.name = "lower_storage",
       .phase = "legalize",
       .doc = "views and writes become kernels",
       .run = passes::lower_storage,
       .precondition = "operators, after lambda_lift and name_shapes",
       .after = {"lambda_lift", "name_shapes"},
       .on_operators = true,
       .leaves = "no strided reads and writes but in tensor programs"},
      {.name = "legalize",
       .phase = "legalize",
       .doc = "operators become kernels: a spec and loops",
       .run = passes::legalize,
       .precondition = "lambda_lift, decompose, name_shapes, split_wide_concat and lower_storage",
       .after = for_operators(),
       .leaves = "calls of kernels in the place of operators"},
      {.name = "annotate_patterns",
       .phase = "annotate",
       .doc = "pattern kinds from the loops of every kernel",
       .run = passes::annotate_patterns,
       .precondition = "legalize",
       .after = legal(),
       .leaves = "a pattern kind on every tensor program of a kernel"},
      {.name = "fuse_ops",
       .phase = "fuse",
       .doc = "kernels that belong together are grouped",
       .run = passes::fuse_ops,
       .precondition = "annotate_patterns",
       .after = with(legal(), {"annotate_patterns"}),
       .leaves = "groups of kernels: functions that call several",
       .without = "each operator is a kernel of its own"},
      {.name = "fuse_tensor_ir",
       .phase = "fuse",
       .doc = "groups become single kernels",
       .run = passes::fuse_tensor_ir,
       .precondition = "fuse_ops",
       .after = with(legal(), {"annotate_patterns", "fuse_ops"}),
       .leaves = "single kernels"},
      {.name = "dead_parameters",
       .phase = "fuse",
       .doc = "parameters of private functions and kernels that nothing reads go",
       .run = passes::remove_dead_parameters,
       .leaves = "no unread parameters but those of exported functions",
       .without = "they are passed"},
      {.name = "dead_code",
       .phase = "fuse",
       .doc = "unused bindings and kernels go",
       .run = passes::eliminate_dead_code,
       .leaves = "only what some exported function needs",
       .without = "it is computed"},
      {.name = "mark_weights",
       .phase = "fuse",
       .doc = "kernels learn which of their tensors are weights",
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
       .doc = "optional functions with a dtype that the target lacks go, with their kernels",
       .run_for = omit_unsupported_for,
       .precondition = "fuse_tensor_ir, and a target",
       .after = kernels_only(),
       .leaves = "kernels that the target computes, or that code generation refuses"},
      {.name = "unmark_weights",
       .phase = "implement",
       .doc = "weights become tensors like any other, where hoist_weight_prepacking is left out",
       .run = passes::unmark_weights,
       .leaves = "kernels that name no weights"},
      {.name = "list_kernels",
       .phase = "implement",
       .level = kKernel,
       .doc = "the executable's table of signatures; what is beyond the target's limits is refused",
       .not_by_name = "it fills a table of the executable",
       .precondition = "kernels that are formed, and a target",
       .leaves = "a signature for each kernel"},
      {.name = "choose_routines",
       .phase = "implement",
       .level = kKernel,
       .doc = "routines of libraries implement the kernels that they are faster for",
       .not_by_name = "a call of a routine is no tensor program",
       .precondition = "list_kernels",
       .leaves = "kernels without routines to the steps that follow",
       .without = "code is generated for every kernel"},
      {.name = "find_cached",
       .phase = "implement",
       .level = kKernel,
       .doc = "kernels whose code was made before are taken from the cache",
       .not_by_name = "what the cache has is code",
       .precondition = "choose_routines",
       .leaves = "kernels that need code to the steps that follow",
       .without = "code is generated for every kernel, and none is kept"},
      {.name = "schedule",
       .phase = "implement",
       .level = kKernel,
       .doc = "loops take the form that suits the target",
       .run_for = schedule_for_target,
       .precondition = "fuse_tensor_ir, and a target",
       .after = kernels_only(),
       .leaves = "a sequence of loop nests, each of which becomes a launch",
       .without = "each kernel gets the fallback's schedule: one invocation an output element"},
      {.name = "segment",
       .phase = "implement",
       .level = kKernel,
       .doc = "tensors above the target's limit of a binding are accessed in segments",
       .not_by_name = "it gives programs parameters that the callers of their kernels do not know",
       .precondition = "schedule",
       .leaves = "two programs for kernels that meet both large and small tensors"},
      {.name = "lower_math",
       .phase = "implement",
       .level = kKernel,
       .doc = "functions that the target computes too coarsely become polynomials",
       .run_for = lower_math_for_target,
       .precondition = "legalize, and a target",
       .after = legal(),
       .leaves = "functions that the target computes within 2 ULP"},
      {.name = "check_programs",
       .phase = "implement",
       .level = kKernel,
       .doc = "hand-written tensor programs that ask too much of the target are refused",
       .run_for = check_programs_for_target,
       .precondition = "legalize, and a target",
       .after = legal(),
       .leaves = "programs that code can be made of"},
      {.name = "lower_launches",
       .phase = "implement",
       .level = kKernel,
       .doc = "blocks are opened, and programs are cut into launches and workspaces",
       .not_by_name = "launches are no functions of the module",
       .precondition = "schedule",
       .leaves = "launches of flat loops over simplified indices"},
      {.name = "narrow_indices",
       .phase = "implement",
       .level = kKernel,
       .doc = "indices get 32 bits where the target wants that and they fit",
       .not_by_name = "launches are no functions of the module",
       .precondition = "lower_launches",
       .leaves = "indices of the target's type, under limits that are checked at the launch"},
      {.name = "find_preparation",
       .phase = "implement",
       .level = kKernel,
       .doc = "launches that only pack weights are told from the others",
       .not_by_name = "launches are no functions of the module",
       .precondition = "lower_launches",
       .leaves = "launches that run once, when weights are loaded"},
      {.name = "describe_launches",
       .phase = "implement",
       .level = kKernel,
       .doc = "extents, workspaces and limits of launches become programs over their scalars",
       .not_by_name = "it fills a table of the executable",
       .precondition = "find_preparation",
       .leaves = "the executable's entry for each implementation"},
      {.name = "record_requirements",
       .phase = "implement",
       .doc = "kernels learn what their implementations ask of callers",
       .not_by_name = "it reads launches, which are no functions of the module",
       .precondition = "describe_launches",
       .leaves =
           "requirements on the tensor program of every kernel: workspace, in_place, prepared"},
      {.name = "lift_workspaces",
       .phase = "plan",
       .doc = "scratch memory of kernels becomes their callers'",
       .run = passes::lift_workspaces,
       .precondition = "fuse_tensor_ir",
       .after = kernels_only(),
       .leaves = "calls that name the bytes of their workspaces",
       .without = "each runner of kernels has workspaces of its own"},
      {.name = "order_bindings",
       .phase = "plan",
       .doc = "calls come in an order that needs less memory at a time, where a limit asks for it",
       .run = passes::order_bindings,
       .precondition = "fuse_tensor_ir; not plan_memory",
       .after = kernels_only(),
       .leaves = "calls in another order"},
      {.name = "plan_memory",
       .phase = "plan",
       .doc = "storage made explicit and reused",
       .run = passes::plan_memory,
       .precondition = "legalize, and fuse_tensor_ir where fuse_ops ran",
       .after = kernels_only(),
       .on_planned = true,
       .leaves = "storages, and tensors in them",
       .without = "storage is explicit, but each tensor has one of its own"},
      {.name = "hoist_weight_prepacking",
       .phase = "plan",
       .doc = "what implementations pack of weights is made once, by prepare",
       .run = passes::hoist_weight_prepacking,
       .precondition = "plan_memory; nothing changes where no kernel says what is packed",
       .after = with(kernels_only(), {"plan_memory"}),
       .on_planned = true,
       .leaves = "calls that take what prepare packed",
       .without = "implementations pack nothing"},
      {.name = "generate_code",
       .phase = "generate",
       .level = PassLevel::kExecutable,
       .doc = "launches become code of the target, on threads",
       .not_by_name = "code is no module: tapml compile makes it",
       .precondition = "describe_launches",
       .leaves = "modules of code in the executable"},
      {.name = "lower_functions",
       .phase = "generate",
       .level = PassLevel::kExecutable,
       .doc = "graph-level functions become instructions of the virtual machine",
       .not_by_name = "instructions are no module: tapml compile makes them",
       .precondition = "plan_memory",
       .leaves = "functions in the executable"},
  };
}

// Passes that are only called by name.
Table passes_by_name() {
  return {
      {.name = "a_normal_form",
       .phase = kByName,
       .doc = "nested expressions become bindings",
       .run = passes::a_normal_form,
       .precondition = "nothing: a text module is read through it",
       .leaves = "operands that are variables, constants, shapes, values and names"},
      {.name = "canonicalize",
       .phase = kByName,
       .doc = "one way to write what can be written in several",
       .run = passes::canonicalize,
       .leaves = "programs that differ where they mean something else"},
      {.name = "partial_evaluate",
       .phase = kByName,
       .doc = "what is decided already is done at compile time",
       .run = passes::partial_evaluate,
       .precondition = "nothing; operators are computed before legalize only",
       .leaves = "no branches and calls whose outcome is known"},
      {.name = "outline_bindings",
       .phase = kByName,
       .doc = "bindings that the attribute outline names become functions",
       .run = passes::outline_bindings,
       .precondition =
           "nothing; other functions than those marked {outline: [\"name = first..last\"]} stay",
       .leaves = "calls of the functions that were cut out"},
      {.name = "defuse",
       .phase = kByName,
       .doc = "kernels of several operators become kernels of one",
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
