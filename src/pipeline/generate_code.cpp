#include "pipeline/generate_code.h"

#include <algorithm>
#include <iterator>

#include "codegen/code_generators.h"
#include "pipeline/kernel_cache.h"
#include "pipeline/unproved_kernels.h"

namespace tapml::pipeline {

namespace {

void keep(const KernelContext& context, const LoweredKernel& kernel) {
  if (kernel.key.empty()) return;
  CachedKernel cached{kernel.implementation, kernel.code};
  cached.implementation.kernel = cached.implementation.module = 0;
  context.options.cache->keep(kernel.key, cached);
}

// Compiles the generated kernels and releases their launches, which are large.
void compile_kernels(const KernelContext& context, const std::vector<LoweredKernel*>& kernels) {
  std::unique_ptr<codegen::KernelCompiler> compiler;
  for (LoweredKernel* kernel : kernels) {
    if (!kernel->is_generated()) continue;
    std::vector<codegen::DeviceFunc> launches;
    for (KernelForm& form : kernel->forms) {
      std::ranges::move(form.lowered.launches, std::back_inserter(launches));
    }
    if (!compiler) compiler = context.generator.compiler(context.target, context.options.threads);
    compiler->add(kernel->name, std::move(launches));
  }
  if (!compiler) return;
  std::vector<codegen::KernelCode> made = compiler->finish(context.options.instruments.watcher);
  auto next = made.begin();
  for (LoweredKernel* kernel : kernels) {
    if (!kernel->is_generated()) continue;
    kernel->code = std::move(*next++);
    keep(context, *kernel);
  }
}

}  // namespace

bool keeps_code(const KernelContext& context) {
  if (!context.options.cache) return false;
  const codegen::Kept kept = context.generator.kept();
  return kept == codegen::Kept::kAll ||
         (kept == codegen::Kept::kOwnModules && context.options.module_per_kernel);
}

void find_cached(const KernelContext& context, const KernelInfo& info, LoweredKernel& kernel) {
  std::string text = info.spec;
  if (!kernel.by_rules) text += "\nby the fallback's schedule";
  for (const std::optional<int64_t>& bound : kernel.most) {
    text += "\nat most " + (bound ? std::to_string(*bound) : "any");
  }
  kernel.key = KernelCache::key(text, context.target);
  auto known = context.options.cache->find(kernel.key);
  if (!known) return;
  kernel.source = LoweredKernel::Source::kCached;
  kernel.code = std::move(known->code);
  kernel.implementation = std::move(known->implementation);
  const std::string written = provider_of_written(*kernel.loops);
  if (!written.empty()) kernel.implementation.provider = written;
}

void generate_code(const KernelContext& context, std::vector<LoweredKernel>& kernels,
                   Executable& executable) {
  std::vector<LoweredKernel*> own;  // those whose code is generated
  for (LoweredKernel& kernel : kernels) {
    if (!kernel.is_generated() && kernel.source != LoweredKernel::Source::kCached) continue;
    own.push_back(&kernel);
    for (const KernelForm& form : kernel.forms) {
      for (const codegen::DeviceFunc& launch : form.lowered.launches) {
        if (context.options.lowered) context.options.lowered(launch);
      }
    }
  }
  // If libraries implement all kernels, there is no code to link.
  if (own.empty() && !kernels.empty()) return;
  compile_kernels(context, own);
  std::vector<codegen::KernelCode> code;
  for (LoweredKernel* kernel : own) code.push_back(std::move(kernel->code));
  const codegen::CodeGenerator& generator = context.generator;
  if (own.empty() || !context.options.module_per_kernel || !generator.driver_builds_modules()) {
    executable.modules.push_back(generator.link(code, context.target));
    return;
  }
  for (size_t i = 0; i < own.size(); ++i) {
    executable.implementations[own[i]->number].module =
        static_cast<int32_t>(executable.modules.size());
    executable.modules.push_back(generator.link({std::move(code[i])}, context.target));
  }
}

}  // namespace tapml::pipeline
