#include "pipeline/compile.h"

#include "ir/exceptions.h"
#include "pipeline/compilation.h"

namespace tapml::pipeline {

namespace {

// Every step of a compilation, in order. pass_table() documents what each requires and leaves;
// `tapml compile --dump-ir` shows the result of each.
void run_steps(Compilation& c) {
  // The graph level. Nothing here depends on the target: platforms with the same fusion policy
  // share the kernels.
  if (!c.has_kernels()) {
    c.pass("insert_checks");
    c.pass("lambda_lift");
    c.pass("match");
    c.pass("inline_functions");
    c.pass("simplify_graph");
    c.pass("common_subexpressions");
    c.pass("fold_constants");
    c.pass("lift_preparation");
    c.pass("decompose");
    c.pass("name_shapes");
    c.pass("split_wide_concat");
    c.pass("lower_storage");
    c.pass("legalize");
    c.pass("annotate_patterns");
    c.pass("fuse_ops");
    c.pass("fuse_tensor_ir");
    c.pass("dead_parameters");
    c.pass("dead_code");
    c.pass("mark_weights");
    c.form_kernels();
  }
  if (!c.has_target()) return;

  // The kernel level: lowers each kernel independently to launches with known requirements.
  c.omit_unsupported();
  if (!c.options().prepare) c.pass("unmark_weights");
  c.list_kernels();
  c.choose_routines();
  c.find_cached();
  c.schedule();
  c.kernels("segment", segment);
  c.kernels("lower_math", lower_math);
  c.kernels("check_programs", check_programs);
  c.kernels("lower_launches", lower_launches);
  c.kernels("narrow_indices", narrow_indices);
  c.kernels("find_preparation", find_preparation);
  c.kernels("describe_launches", describe_launches);
  c.record_requirements();

  // Memory, planned from the kernels' requirements.
  if (c.options().lift_workspaces) c.pass("lift_workspaces");
  if (c.options().memory.order_for) c.order_bindings();
  c.plan_memory();
  c.pass("hoist_weight_prepacking");

  // Code generation.
  c.generate_code();
  c.lower_functions();
}

void check_optional(const std::string& pass, const std::string& where) {
  std::string known;
  for (const PassInfo& row : pass_table()) {
    if (!row.without) continue;
    if (row.name == pass) return;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw_user("this pass cannot be skipped", where, "some of " + known, pass);
}

void check_instruments(const Instruments& instruments) {
  for (const std::string& name : instruments.skip) check_optional(name, "skip");
  std::string known;
  for (const PassInfo& row : pass_table()) {
    if (row.is_common()) known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  for (const AddedPass& added : instruments.added) {
    if (find_pass(added.name)) {
      throw_user("the name of an added pass is taken", "pass " + added.name,
                 "a name that docs/passes.md does not have", added.name);
    }
    const PassInfo* after = find_pass(added.after);
    if (!after || !after->is_common()) {
      throw_user("no pass can be added there", "pass " + added.name, "after one of " + known,
                 "after " + added.after);
    }
  }
}

std::shared_ptr<const Executable> to_executable(Compilation& compilation) {
  run_steps(compilation);
  if (Module* planned = compilation.options().planned) *planned = compilation.module();
  return compilation.executable();
}

bool no_kernel(const std::string&) { return false; }

}  // namespace

void leave_out(const std::vector<std::string>& passes, const std::string& where,
               ImplementOptions& options) {
  for (const std::string& pass : passes) {
    check_optional(pass, where);
    if (pass == "choose_routines") {
      options.from_libraries = no_kernel;
    } else if (pass == "find_cached") {
      options.cache = nullptr;
    } else if (pass == "schedule") {
      options.scheduled_by_rules = no_kernel;
    } else if (pass == "lift_workspaces") {
      options.lift_workspaces = false;
    } else if (pass == "plan_memory") {
      options.memory.reuse = false;
    } else if (pass == "hoist_weight_prepacking") {
      options.prepare = false;
    } else {
      options.instruments.skip.push_back(pass);
    }
  }
}

std::string implemented_to(const PassInfo& row, const Module& kernels, const target::Target& target,
                           const ImplementOptions& options) {
  Compilation compilation(kernels, &target, options);
  compilation.take_as_formed();
  compilation.stop_after(row.name);
  run_steps(compilation);
  return compilation.text_after(row);
}

Module form_kernels(const Module& module, const Instruments& instruments) {
  check_instruments(instruments);
  ImplementOptions options;
  options.instruments = instruments;
  Compilation compilation(module, nullptr, options);
  run_steps(compilation);
  return compilation.module();
}

std::shared_ptr<const Executable> implement(const Module& kernels, const target::Target& target,
                                            const ImplementOptions& options) {
  Compilation compilation(kernels, &target, options);
  compilation.take_as_formed();
  return to_executable(compilation);
}

std::shared_ptr<const Executable> compile(const Module& module, const target::Target& target,
                                          const ImplementOptions& options) {
  check_instruments(options.instruments);
  Compilation compilation(module, &target, options);
  return to_executable(compilation);
}

}  // namespace tapml::pipeline
