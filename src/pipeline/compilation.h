// The state of a compilation and the execution of its steps. Private to pipeline/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/compile.h"
#include "pipeline/kernel_workers.h"
#include "pipeline/lower_kernels.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// Each step is a row of pass_table(); instruments see it under that name and number.
class Compilation {
 public:
  // Without a target it ends when the kernels are formed. The options must outlive it.
  Compilation(const Module& module, const target::Target* target, const ImplementOptions& options)
      : target_(target),
        options_(options),
        module_(module),
        workers_(options.threads, options.instruments) {}

  const Module& module() const { return module_; }
  std::shared_ptr<const Executable> executable() const { return executable_; }
  const ImplementOptions& options() const { return options_; }
  bool has_target() const { return target_ != nullptr; }
  // Whether the module's kernels are formed, according to the module or the caller.
  bool has_kernels() const;
  void take_as_formed() { formed_ = true; }
  // No step after this one runs.
  void stop_after(std::string step) { last_ = std::move(step); }
  // What --dump-ir writes after a step of this row.
  std::string text_after(const PassInfo& row) const;

  // Runs a pass as the table has it, unless the instruments leave it out, and then the caller's
  // passes after it.
  void pass(const char* name);
  // Marks the module's kernels as formed, under a fusion policy that names the skipped passes.
  void form_kernels();

  // The target-specific steps, named after their rows.
  void omit_unsupported();
  void list_kernels();
  void choose_routines();
  void find_cached();
  void schedule();
  using KernelFunction = void (*)(const KernelContext& context, LoweredKernel& kernel);
  void kernels(const char* name, KernelFunction function);  // on all generated kernels
  void record_requirements();
  void order_bindings();
  void plan_memory();
  void generate_code();
  void lower_functions();

 private:
  KernelContext context() const;
  // Whether `name` is to run; false after the last step.
  bool begins(const std::string& name);
  void table_pass(const PassInfo& row);
  void module_step(const char* name, const std::function<Module(const Module&)>& run);
  void kernel_step(const char* name, const std::function<void()>& step);
  void executable_step(const char* name, const std::function<void()>& step);
  // Runs a step on every generated kernel, on threads.
  void each_generated(const char* what, const KernelStep& step);

  const target::Target* target_;
  const ImplementOptions& options_;
  Module module_;
  bool formed_ = false;
  std::string last_;  // empty: all steps
  bool stopped_ = false;
  int64_t common_done_ = 0;  // number of passes before the kernels are formed
  std::vector<LoweredKernel> kernels_;
  KernelWorkers workers_;
  std::shared_ptr<Executable> executable_ = std::make_shared<Executable>();
};

// Runs the steps of implement() up to that of `row`, and returns text_after() it.
std::string implemented_to(const PassInfo& row, const Module& kernels, const target::Target& target,
                           const ImplementOptions& options);

}  // namespace tapml::pipeline
