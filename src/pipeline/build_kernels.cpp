#include "pipeline/build_kernels.h"

#include "arith/scalar_program.h"
#include "codegen/lower/check_program.h"
#include "codegen/lower/device_func.h"
#include "codegen/lower/narrow_index.h"
#include "codegen/lower/segment_tensors.h"
#include "codegen/source/emitter.h"
#include "ir/exceptions.h"
#include "passes/lower_math.h"
#include "pipeline/run.h"
#include "schedule/rules.h"

namespace tapml::pipeline {

KernelBuilder::KernelBuilder(const target::Target& target, const ImplementOptions& options,
                             Executable& executable)
    : target_(target), options_(options), executable_(executable) {}

bool KernelBuilder::add_from_cache(Native& native, int32_t kernel) {
  native.key = KernelCache::key(executable_.kernels[static_cast<size_t>(kernel)].spec, target_);
  auto known = options_.cache->find(native.key);
  if (!known) return false;
  native.cached = true;
  native.object = std::move(known->object);
  known->implementation.kernel = kernel;
  executable_.implementations.push_back(std::move(known->implementation));
  return true;
}

void KernelBuilder::add(const tir::PrimFunc& func, int32_t kernel, const std::string& programs) {
  if (options_.instruments.poll) options_.instruments.poll();
  double start = seconds_now();
  const std::string& name = executable_.kernels[static_cast<size_t>(kernel)].name;
  const bool is_native = target_.description.code == target::CodeKind::kNative;
  Native native;
  native.implementation = executable_.implementations.size();
  // What a rewrite makes of a kernel has no key.
  if (is_native && options_.cache && !options_.rewrite && add_from_cache(native, kernel)) {
    natives_.push_back(std::move(native));
    schedule_seconds_ += seconds_now() - start;
    return;
  }
  schedule::Scheduled scheduled = schedule::schedule_for(func, target_);
  if (options_.rewrite) scheduled.func = options_.rewrite(name, scheduled.func);
  codegen::SegmentedFunc segmented =
      codegen::segment_tensors(*scheduled.func, target_.description.limits);
  tir::PrimFuncRef final_func = segmented.func;
  if (!target_.description.accurate_math) final_func = passes::lower_math(*final_func);
  if (!programs.empty()) {
    codegen::check_program(
        *final_func, target_.description,
        "tensor program " + programs + ", kernel " + name + " on " + target_.text);
  }
  codegen::LoweredKernel lowered = codegen::lower_prim_func(*final_func, name);
  Implementation implementation;
  implementation.kernel = kernel;
  implementation.provider = "schedule:" + scheduled.rule;
  implementation.segments = segmented.segments;
  for (const tir::Buffer& workspace : lowered.workspaces) {
    ParamInfo info;
    info.name = workspace->name;
    info.dtype = workspace->dtype;
    info.mode = AccessMode::kWorkspace;
    for (const PrimExpr& dim : workspace->shape) {
      info.dims.push_back(arith::compile_scalar(dim, final_func->scalars));
    }
    implementation.workspaces.push_back(std::move(info));
  }
  const auto own = static_cast<int32_t>(func.params.size());
  const auto parts = static_cast<int32_t>(segmented.segments.size());
  for (codegen::DeviceFunc& launch : lowered.launches) {
    // The program has its segments before the workspaces, the executable after.
    for (int32_t& index : launch.buffer_indices) {
      if (index < own) continue;
      index += index < own + parts ? static_cast<int32_t>(lowered.workspaces.size()) : -parts;
    }
    if (target_.description.index_bits == 32) {
      bool wide = target_.description.features.compute_dtypes.contains(DType::kI64);
      codegen::narrow_index(launch, wide, "kernel " + name + " on " + target_.text);
    }
    LaunchInfo info{launch.entry,
                    arith::compile_scalar(launch.extent, final_func->scalars),
                    launch.workgroup_threads,
                    launch.buffer_indices,
                    launch.scalar_indices,
                    {}};
    for (const codegen::IndexLimit& limit : launch.limits) {
      info.limits.push_back(
          {arith::compile_scalar(limit.value, final_func->scalars), limit.most, limit.what});
    }
    implementation.launches.push_back(std::move(info));
  }
  executable_.implementations.push_back(std::move(implementation));
  if (is_native) {
    if (!compiler_) compiler_ = std::make_unique<codegen::NativeCompiler>(options_.threads);
    compiler_->add(name + ".o", std::move(lowered.launches));
    natives_.push_back(std::move(native));
  } else {
    for (codegen::DeviceFunc& launch : lowered.launches) functions_.push_back(std::move(launch));
  }
  schedule_seconds_ += seconds_now() - start;
}

void KernelBuilder::finish() {
  add_time(options_.instruments, "schedule", schedule_seconds_);
  double start = seconds_now();
  executable_.modules.push_back(generate());
  add_time(options_.instruments, "codegen", seconds_now() - start);
}

ModuleBlob KernelBuilder::generate_native() {
  std::vector<codegen::NativeObject> made, all;
  if (compiler_) made = compiler_->finish();
  size_t next = 0;
  for (Native& native : natives_) {
    if (native.cached) {
      all.push_back(std::move(native.object));
      continue;
    }
    all.push_back(std::move(made[next++]));
    if (native.key.empty()) continue;
    CachedKernel kernel{executable_.implementations[native.implementation], all.back()};
    kernel.implementation.kernel = 0;
    options_.cache->keep(native.key, kernel);
  }
  return codegen::archive_native(all);
}

ModuleBlob KernelBuilder::generate() {
  switch (target_.description.code) {
    case target::CodeKind::kNative:
      return generate_native();
    case target::CodeKind::kOpenClC:
      return codegen::compile_opencl(functions_);
    case target::CodeKind::kNone: {
      ModuleBlob blob;
      blob.platform = target_.description.platform;
      blob.format = "none";
      for (const auto& function : functions_) blob.entries.push_back(function.entry);
      return blob;
    }
    case target::CodeKind::kGlsl:
      break;
  }
  throw_platform(PlatformFault::kAbsent,
                 "no code generation for target " + target_.description.platform);
}

}  // namespace tapml::pipeline
