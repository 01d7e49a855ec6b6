#include "pipeline/compilation.h"

#include <algorithm>
#include <set>

#include "codegen/code_generators.h"
#include "codegen/vm/lower.h"
#include "ir/exceptions.h"
#include "passes/fuse_ops.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/order_bindings.h"
#include "passes/plan_memory.h"
#include "pipeline/executable_text.h"
#include "pipeline/generate_code.h"
#include "pipeline/kernel_programs.h"
#include "pipeline/kernel_requirements.h"
#include "pipeline/kernel_signature.h"
#include "pipeline/library_kernels.h"
#include "pipeline/run.h"
#include "pipeline/scalar_bounds.h"
#include "text/printer.h"

namespace tapml::pipeline {

namespace {

// Number of a row of the table, used to number dumps.
int number_of(const char* name) {
  const PassInfo* pass = find_pass(name);
  if (!pass) throw_internal("a step that is not in the table of passes", name);
  return static_cast<int>(pass - pass_table().data()) + 1;
}

std::string programs_text(const relax::Function& spec) {
  std::string text;
  for (const std::string& name : passes::programs_of(spec)) {
    text += (text.empty() ? "@" : ", @") + name;
  }
  return text;
}

}  // namespace

bool Compilation::has_kernels() const { return formed_ || module_.facts.phase == kLastCommonPhase; }

KernelContext Compilation::context() const {
  return {*target_, options_, codegen::generator_of(*target_)};
}

bool Compilation::begins(const std::string& name) {
  if (stopped_) return false;
  stopped_ = name == last_;
  return true;
}

std::string Compilation::text_after(const PassInfo& row) const {
  switch (row.level) {
    case PassLevel::kGraph:
      return text::print(module_);
    case PassLevel::kKernel:
      return text::print(kernel_programs(kernels_));
    case PassLevel::kExecutable:
      return executable_text(*executable_);
  }
  return "";
}

void Compilation::module_step(const char* name, const std::function<Module(const Module&)>& run) {
  if (!begins(name)) return;
  module_ = run_pass(module_, name, run, options_.instruments, number_of(name));
}

void Compilation::kernel_step(const char* name, const std::function<void()>& step) {
  if (!begins(name)) return;
  run_kernel_step(module_, kernels_, name, step, options_.instruments, number_of(name));
}

void Compilation::executable_step(const char* name, const std::function<void()>& step) {
  if (!begins(name)) return;
  run_executable_step(module_, *executable_, name, step, options_.instruments, number_of(name));
}

void Compilation::each_generated(const char* what, const KernelStep& step) {
  workers_.each(kernels_, what, [&](LoweredKernel& kernel) {
    if (kernel.is_generated()) step(kernel);
  });
}

void Compilation::table_pass(const PassInfo& row) {
  if (row.is_common()) {
    const int64_t total = std::ranges::count_if(pass_table(), &PassInfo::is_common);
    tell(options_.instruments.watcher, {"passes", common_done_++, total, ""});
    if (is_skipped(options_.instruments, row.name)) return;
  }
  module_step(row.name, row.run);
}

void Compilation::pass(const char* name) {
  table_pass(*find_pass(name));
  for (const AddedPass& added : options_.instruments.added) {
    if (added.after != name) continue;
    module_ = run_pass(module_, added.name, added.run, options_.instruments, number_of(name));
  }
}

void Compilation::form_kernels() {
  tell(options_.instruments.watcher, {"passes", common_done_, common_done_, ""});
  module_.facts.phase = kLastCommonPhase;
  std::string policy = passes::fusion_policy_of(module_);
  for (const std::string& name : options_.instruments.skip) policy += "+without:" + name;
  for (const AddedPass& added : options_.instruments.added) policy += "+pass:" + added.name;
  module_.facts.fusion_policy = std::move(policy);
}

void Compilation::omit_unsupported() {
  std::vector<OmittedFunction> omitted_functions;
  auto foreign = [&](const std::string& kernel) { return options_.foreign.contains(kernel); };
  module_step("omit_unsupported", [&](const Module& module) {
    return without_unsupported(module, *target_, foreign, omitted_functions);
  });
  if (options_.omitted_functions) *options_.omitted_functions = std::move(omitted_functions);
}

void Compilation::list_kernels() {
  executable_->target = target_->text;
  executable_->fusion_policy = module_.facts.fusion_policy;
  executable_->model = unwrap(model_interface_of(module_.all_attrs()));
  kernel_step("list_kernels", [&] {
    // Without a binding limit, maximum tensor sizes are not needed.
    std::map<std::string, std::vector<std::optional<int64_t>>> bounds;
    if (target_->description.limits.max_binding_bytes > 0) {
      bounds = scalar_bounds(module_, options_.memory.bounds);
    }
    for (const auto& [name, function] : module_.functions) {
      if (!passes::is_kernel(function.get())) continue;
      const relax::Function& spec = passes::kernel_spec(module_, name);
      LoweredKernel kernel;
      kernel.name = name;
      kernel.number = kernels_.size();
      kernel.loops_name = spec.facts.implementation;
      kernel.loops =
          std::static_pointer_cast<const tir::PrimFunc>(module_.functions.at(kernel.loops_name));
      kernel.programs = programs_text(spec);
      kernel.most = bounds[name];
      kernel.by_rules = !options_.scheduled_by_rules || options_.scheduled_by_rules(name);
      kernel.implementation.kernel = static_cast<int32_t>(kernel.number);
      if (auto it = options_.foreign.find(name); it != options_.foreign.end()) {
        kernel.source = LoweredKernel::Source::kForeign;
        kernel.implementation = it->second.implementation;
      }
      kernels_.push_back(std::move(kernel));
    }
    executable_->kernels.resize(kernels_.size());
    workers_.each(kernels_, nullptr, [&](LoweredKernel& kernel) {
      KernelInfo& info = executable_->kernels[kernel.number];
      info = kernel_signature(module_, kernel.name);
      check_limits(info, *target_);
    });
  });
}

void Compilation::choose_routines() {
  kernel_step("choose_routines", [&] {
    const LibraryKernels libraries(*target_, options_);
    for (LoweredKernel& kernel : kernels_) {
      const bool any = !options_.from_libraries || options_.from_libraries(kernel.name);
      if (!kernel.is_generated() || !any) continue;
      libraries.choose(context(), passes::kernel_spec(module_, kernel.name), kernel);
    }
  });
}

void Compilation::find_cached() {
  kernel_step("find_cached", [&] {
    if (!keeps_code(context())) return;
    // Kernels that a rewrite changed are not cached.
    for (LoweredKernel& kernel : kernels_) {
      if (!kernel.is_generated() || !may_be_rewritten(context(), kernel)) continue;
      pipeline::schedule(context(), kernel);
      rewrite(context(), kernel);
    }
    each_generated(nullptr, [&](LoweredKernel& kernel) {
      if (kernel.rewritten) return;
      pipeline::find_cached(context(), executable_->kernels[kernel.number], kernel);
    });
  });
}

void Compilation::schedule() {
  kernel_step("schedule", [&] {
    std::vector<bool> seen;  // for each rewrite
    for (const LoweredKernel& kernel : kernels_) seen.push_back(kernel.scheduled != nullptr);
    each_generated("schedule",
                   [&](LoweredKernel& kernel) { pipeline::schedule(context(), kernel); });
    for (LoweredKernel& kernel : kernels_) {
      if (!kernel.is_generated() || seen[kernel.number]) continue;
      if (may_be_rewritten(context(), kernel)) rewrite(context(), kernel);
    }
  });
}

void Compilation::kernels(const char* name, KernelFunction function) {
  kernel_step(name, [&] {
    each_generated(nullptr, [&](LoweredKernel& kernel) { function(context(), kernel); });
  });
}

void Compilation::record_requirements() {
  std::vector<tir::Requirements> requirements(kernels_.size());
  module_step("record_requirements", [&](const Module& module) {
    workers_.each(kernels_, nullptr, [&](LoweredKernel& kernel) {
      tir::Requirements& own = requirements[kernel.number];
      own = requirements_of(kernel, executable_->kernels[kernel.number]);
      for (KernelForm& form : kernel.forms) {
        for (codegen::DeviceFunc& launch : form.lowered.launches) {
          launch.may_alias = !own.in_place.empty();
        }
      }
    });
    return with_requirements(module, kernels_, std::move(requirements));
  });
}

void Compilation::order_bindings() {
  module_step("order_bindings", [&](const Module& module) {
    return passes::order_bindings_with(module, *options_.memory.order_for);
  });
}

void Compilation::plan_memory() {
  passes::PlanMemoryOptions memory = options_.memory;
  // Rewritten kernels may write out of bounds, so their tensors share no storage.
  if (options_.rewrite || !options_.foreign.empty()) memory.in_place = memory.offsets = false;
  module_step("plan_memory",
              [&](const Module& module) { return passes::plan_memory_with(module, memory); });
}

void Compilation::generate_code() {
  executable_step("generate_code", [&] {
    for (const LoweredKernel& kernel : kernels_) {
      executable_->implementations.push_back(kernel.implementation);
      executable_->implementations.back().kernel = static_cast<int32_t>(kernel.number);
    }
    pipeline::generate_code(context(), kernels_, *executable_);
    add_library_module(context(), kernels_, *executable_);
    // Modules of foreign code follow the generated ones.
    for (const LoweredKernel& kernel : kernels_) {
      if (kernel.source != LoweredKernel::Source::kForeign) continue;
      executable_->implementations[kernel.number].module =
          static_cast<int32_t>(executable_->modules.size());
      executable_->modules.push_back(options_.foreign.at(kernel.name).module);
    }
  });
}

void Compilation::lower_functions() {
  executable_step("lower_functions", [&] {
    codegen::VmContext context;
    for (const LoweredKernel& kernel : kernels_) {
      context.kernels[kernel.name] = {static_cast<int32_t>(kernel.number), kernel.loops.get()};
    }
    const auto functions = passes::graph_functions(module_);
    for (const auto& [name, function] : functions) {
      context.functions.emplace(name, static_cast<int32_t>(context.functions.size()));
    }
    for (const auto& [name, function] : functions) {
      executable_->functions.push_back(
          codegen::lower_function(name, *function, context, *executable_));
    }
  });
}

}  // namespace tapml::pipeline
