// A compilation in progress: what its steps work on, and how they are run. Private to pipeline/.
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

// Each step is a row of pass_table(), under whose name and number the instruments see it.
class Compilation {
 public:
  // Without a target it ends where the kernels are formed. The options outlive it.
  Compilation(const Module& module, const target::Target* target, const ImplementOptions& options)
      : target_(target),
        options_(options),
        module_(module),
        workers_(options.threads, options.instruments) {}

  const Module& module() const { return module_; }
  std::shared_ptr<const Executable> executable() const { return executable_; }
  const ImplementOptions& options() const { return options_; }
  bool has_target() const { return target_ != nullptr; }
  // The module's kernels are formed: it says so itself, or whoever compiles it.
  bool has_kernels() const;
  void take_as_formed() { formed_ = true; }

  // Runs a pass as the table has it, unless the instruments leave it out, and then the caller's
  // passes after it.
  void pass(const char* name);
  // The module's kernels are formed now, under a policy that names what was left out.
  void form_kernels();

  // The steps that know the target, named after their rows.
  void omit_unsupported();
  void list_kernels();
  void choose_routines();
  void find_cached();
  void schedule();
  using KernelFunction = void (*)(const KernelContext& context, LoweredKernel& kernel);
  void kernels(const char* name, KernelFunction function);  // on all that are generated
  void record_requirements();
  void order_bindings();
  void plan_memory();
  void generate_code();
  void lower_functions();

 private:
  KernelContext context() const;
  void table_pass(const PassInfo& row);
  void module_step(const char* name, const std::function<Module(const Module&)>& run);
  void kernel_step(const char* name, const std::function<void()>& step);
  void executable_step(const char* name, const std::function<void()>& step);
  // On every kernel that is generated, on threads.
  void each_generated(const char* what, const KernelStep& step);

  const target::Target* target_;
  const ImplementOptions& options_;
  Module module_;
  bool formed_ = false;
  int64_t common_done_ = 0;  // passes before the kernels are formed
  std::vector<LoweredKernel> kernels_;
  KernelWorkers workers_;
  std::shared_ptr<Executable> executable_ = std::make_shared<Executable>();
};

}  // namespace tapml::pipeline
