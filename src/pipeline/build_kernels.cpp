#include "pipeline/build_kernels.h"

#include <algorithm>
#include <iterator>

#include "arith/scalar_program.h"
#include "base/clock.h"
#include "codegen/lower/check_program.h"
#include "codegen/lower/device_func.h"
#include "codegen/lower/narrow_index.h"
#include "codegen/lower/segment_tensors.h"
#include "codegen/source/emitter.h"
#include "codegen/source/spirv.h"
#include "ir/exceptions.h"
#include "passes/lower_math.h"
#include "passes/memory/in_place.h"
#include "pipeline/run.h"
#include "pipeline/unproved_kernels.h"
#include "schedule/rules.h"

namespace tapml::pipeline {

namespace {

// Whether the planner may let an output take over an input's storage.
bool may_alias(const tir::PrimFunc& func) {
  for (size_t output = 0; output < func.params.size(); ++output) {
    if (func.params[output].mode != AccessMode::kOut) continue;
    for (size_t input = 0; input < func.params.size(); ++input) {
      if (func.params[input].mode == AccessMode::kIn &&
          passes::may_compute_in_place(func, input, output)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

KernelBuilder::KernelBuilder(const target::Target& target, const ImplementOptions& options,
                             Executable& executable)
    : target_(target), options_(options), executable_(executable) {}

bool KernelBuilder::add_from_cache(Native& native, int32_t kernel,
                                   const std::vector<std::optional<int64_t>>& most, bool by_rules) {
  std::string text = executable_.kernels[static_cast<size_t>(kernel)].spec;
  if (!by_rules) text += "\nby the fallback's schedule";
  for (const std::optional<int64_t>& bound : most) {
    text += "\nat most " + (bound ? std::to_string(*bound) : "any");
  }
  native.key = KernelCache::key(text, target_);
  auto known = options_.cache->find(native.key);
  if (!known) return false;
  native.cached = true;
  native.object = std::move(known->object);
  known->implementation.kernel = kernel;
  executable_.implementations.push_back(std::move(known->implementation));
  return true;
}

void KernelBuilder::add(const tir::PrimFunc& func, int32_t kernel, const std::string& programs,
                        const std::vector<std::optional<int64_t>>& most) {
  if (options_.instruments.poll) options_.instruments.poll();
  generates_ = true;
  double start = seconds_now();
  const std::string& name = executable_.kernels[static_cast<size_t>(kernel)].name;
  const bool is_native = target_.description.code == target::CodeKind::kNative;
  const target::CodeKind kind = target_.description.code;
  // OpenCL C of several kernels is one text.
  const bool is_kept = is_native || kind == target::CodeKind::kGlsl ||
                       (kind == target::CodeKind::kOpenClC && options_.module_per_kernel);
  Native native;
  native.implementation = executable_.implementations.size();
  const bool by_rules = !options_.scheduled_by_rules || options_.scheduled_by_rules(name);
  auto schedule = [&] {
    return by_rules ? schedule::schedule_for(func, target_) : schedule::fallback(func, target_);
  };
  std::optional<schedule::Scheduled> known;
  bool rewritten = false;
  if (options_.rewrite && (!options_.rewrites || options_.rewrites(name))) {
    known = schedule();
    const tir::PrimFuncRef own = known->func;
    known->func = options_.rewrite(name, own);
    rewritten = known->func != own;
  }
  // What a rewrite makes of a kernel has no key.
  const std::string written = provider_of_written(func);
  if (is_kept && options_.cache && !rewritten && add_from_cache(native, kernel, most, by_rules)) {
    if (!written.empty()) executable_.implementations[native.implementation].provider = written;
    own_functions_.emplace_back(native.implementation, 0);
    natives_.push_back(std::move(native));
    schedule_seconds_ += seconds_now() - start;
    return;
  }
  const schedule::Scheduled scheduled = known ? *known : schedule();
  Implementation implementation;
  implementation.kernel = kernel;
  implementation.provider = written.empty() ? "schedule:" + scheduled.rule : written;
  const Limits& limits = target_.description.limits;
  std::vector<codegen::DeviceFunc> code;
  codegen::SegmentedFunc whole = codegen::segment_tensors(*scheduled.func, limits);
  codegen::SegmentedFunc parts = codegen::segment_tensors(*scheduled.func, limits, true, most);
  add_launches(whole, parts.symbolic, true, name, programs, implementation, code);
  if (!parts.symbolic.empty()) {
    add_launches(parts, parts.symbolic, false, name + "_parts", programs, implementation, code);
  }
  executable_.implementations.push_back(std::move(implementation));
  if (is_native) {
    for (const codegen::DeviceFunc& launch : code) {
      if (options_.lowered) options_.lowered(launch);
    }
    if (!compiler_)
      compiler_ = std::make_unique<codegen::NativeCompiler>(target_.description, options_.threads);
    compiler_->add(name + ".o", std::move(code));
  } else {
    const bool alias = may_alias(func);
    native.functions = code.size();
    own_functions_.emplace_back(native.implementation, code.size());
    for (codegen::DeviceFunc& launch : code) {
      launch.may_alias = alias;
      if (options_.lowered) options_.lowered(launch);
      native.object.entries.push_back(launch.entry);
      functions_.push_back(std::move(launch));
    }
  }
  if (is_kept) natives_.push_back(std::move(native));
  schedule_seconds_ += seconds_now() - start;
}

codegen::Preparation KernelBuilder::find_preparation(const codegen::SegmentedFunc& segmented,
                                                     const codegen::LoweredKernel& lowered) const {
  const auto* weights = find_attr<std::vector<int64_t>>(segmented.func->attrs, tir::kWeightsAttr);
  const bool may = weights && segmented.segments.empty() && segmented.symbolic.empty() &&
                   target_.description.index_bits == 64;
  return codegen::find_preparation(lowered, segmented.func->params.size(),
                                   may ? *weights : std::vector<int64_t>());
}

void KernelBuilder::add_launches(const codegen::SegmentedFunc& segmented,
                                 const std::vector<codegen::SegmentedFunc::Rows>& symbolic,
                                 bool whole, const std::string& prefix, const std::string& programs,
                                 Implementation& implementation,
                                 std::vector<codegen::DeviceFunc>& code) {
  const std::string& kernel = executable_.kernels[static_cast<size_t>(implementation.kernel)].name;
  const std::string where = "kernel " + kernel + " on " + target_.text;
  tir::PrimFuncRef func = segmented.func;
  if (!target_.description.accurate_math) func = passes::lower_math(*func);
  if (!programs.empty()) {
    codegen::check_program(*func, target_.description, "tensor program " + programs + ", " + where);
  }
  auto program = [&](const PrimExpr& value) { return arith::compile_scalar(value, func->scalars); };
  codegen::LoweredKernel lowered = codegen::lower_prim_func(*func, prefix);
  const codegen::Preparation preparation = find_preparation(segmented, lowered);
  implementation.preparation = preparation.digest;
  implementation.segments = segmented.segments;
  implementation.workspaces.clear();
  for (const tir::Buffer& workspace : lowered.workspaces) {
    const bool prepared = preparation.workspaces[implementation.workspaces.size()];
    ParamInfo info;
    info.name = workspace->name;
    info.dtype = workspace->dtype;
    info.mode = prepared ? AccessMode::kPrepared : AccessMode::kWorkspace;
    for (const PrimExpr& dim : workspace->shape) info.dims.push_back(program(dim));
    implementation.workspaces.push_back(std::move(info));
  }
  // Rows that are left in the fullest binding, where no segment but the first is needed.
  PrimExpr left;
  for (const codegen::SegmentedFunc::Rows& rows : symbolic) {
    PrimExpr own = PrimExpr(rows.each) - rows.count;
    left = left ? min(left, own) : own;
  }
  const auto own = static_cast<int32_t>(executable_.kernels[implementation.kernel].params.size());
  const auto parts = static_cast<int32_t>(segmented.segments.size());
  for (size_t number = 0; number < lowered.launches.size(); ++number) {
    codegen::DeviceFunc& launch = lowered.launches[number];
    // The program has its segments before the workspaces, the executable after.
    for (int32_t& index : launch.buffer_indices) {
      if (index < own) continue;
      index += index < own + parts ? static_cast<int32_t>(lowered.workspaces.size()) : -parts;
    }
    if (target_.description.index_bits == 32) {
      bool wide = target_.description.features.compute_dtypes.contains(DType::kI64);
      bool must = target_.description.code == target::CodeKind::kGlsl;
      codegen::narrow_index(launch, wide, where, must);
    }
    LaunchInfo info;
    info.entry = launch.entry;
    info.extent = program(launch.invocations());
    info.workgroup_threads = launch.workgroup_threads;
    info.buffers = launch.buffer_indices;
    info.scalars = launch.scalar_indices;
    for (const codegen::IndexLimit& limit : launch.limits) {
      info.limits.push_back({program(limit.value), limit.most, limit.what});
    }
    info.prepares = preparation.launches[number];
    if (left) info.when = program(whole ? left : PrimExpr(-1) - left);
    for (const codegen::SegmentedFunc::Rows& rows : symbolic) {
      if (whole) break;
      const std::string& tensor = func->params[static_cast<size_t>(rows.param)].buffer->name;
      info.limits.push_back(
          {program(rows.count), rows.most,
           "number of rows of " + tensor + ", in segments of " + std::to_string(rows.each)});
    }
    implementation.launches.push_back(std::move(info));
    code.push_back(std::move(launch));
  }
}

void KernelBuilder::finish() {
  add_time(options_.instruments, "schedule", schedule_seconds_);
  double start = seconds_now();
  // Where libraries implement all, there is no code to link.
  if (generates_ || executable_.implementations.empty()) {
    std::vector<ModuleBlob> modules = generate();
    for (size_t i = 0; i < own_functions_.size() && modules.size() > 1; ++i) {
      executable_.implementations[own_functions_[i].first].module =
          static_cast<int32_t>(executable_.modules.size() + i);
    }
    std::ranges::move(modules, std::back_inserter(executable_.modules));
  }
  add_time(options_.instruments, "codegen", seconds_now() - start);
}

ModuleBlob KernelBuilder::generate_native() {
  std::vector<codegen::NativeObject> made, all;
  if (compiler_) made = compiler_->finish(options_.instruments.watcher);
  size_t next = 0;
  for (Native& native : natives_) {
    if (native.cached) {
      all.push_back(std::move(native.object));
      continue;
    }
    all.push_back(std::move(made[next++]));
    native.object = all.back();
    keep(native);
  }
  ModuleBlob blob = codegen::archive_native(all, target_.description);
  // Elsewhere only the system's own loader is counted on, not a linker in the process.
  const bool here = target_.place.empty() && !target_.description.own_process;
  return here ? blob : codegen::link_shared(blob);
}

void KernelBuilder::keep(const Native& native) {
  if (native.key.empty()) return;
  CachedKernel kernel{executable_.implementations[native.implementation], native.object};
  kernel.implementation.kernel = 0;
  options_.cache->keep(native.key, kernel);
}

std::vector<ModuleBlob> KernelBuilder::generate_spirv() {
  const auto parts = codegen::compile_shaders(functions_, target_.description, options_.threads,
                                              options_.instruments.watcher);
  std::vector<ModuleBlob> blobs;
  auto add_blob = [&] {
    blobs.emplace_back();
    blobs.back().platform = target_.description.platform;
    blobs.back().format = codegen::kSpirvFormat;
  };
  if (natives_.empty()) add_blob();
  size_t next = 0;
  for (Native& native : natives_) {
    codegen::NativeObject& object = native.object;
    for (size_t i = 0; i < native.functions; ++i, ++next) {
      object.bytes.insert(object.bytes.end(), parts[next].begin(), parts[next].end());
    }
    if (!native.cached) keep(native);
    if (blobs.empty() || options_.module_per_kernel) add_blob();
    ModuleBlob& blob = blobs.back();
    blob.bytes.insert(blob.bytes.end(), object.bytes.begin(), object.bytes.end());
    blob.entries.insert(blob.entries.end(), object.entries.begin(), object.entries.end());
  }
  return blobs;
}

std::vector<ModuleBlob> KernelBuilder::generate_opencl() {
  if (natives_.empty()) return {codegen::compile_opencl(functions_)};
  std::vector<ModuleBlob> blobs;
  auto next = functions_.begin();
  for (Native& native : natives_) {
    const auto end = next + static_cast<std::ptrdiff_t>(native.functions);
    ModuleBlob blob = codegen::compile_opencl({next, end});
    next = end;
    if (native.cached) {
      blob.bytes = std::move(native.object.bytes);
      blob.entries = std::move(native.object.entries);
    } else {
      native.object.bytes = blob.bytes;
      keep(native);
    }
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

std::vector<ModuleBlob> KernelBuilder::generate() {
  switch (target_.description.code) {
    case target::CodeKind::kNative:
      return {generate_native()};
    case target::CodeKind::kOpenClC:
      return generate_opencl();
    case target::CodeKind::kNone: {
      ModuleBlob blob;
      blob.platform = target_.description.platform;
      blob.format = "none";
      for (const auto& function : functions_) blob.entries.push_back(function.entry);
      return {std::move(blob)};
    }
    case target::CodeKind::kGlsl:
      return generate_spirv();
  }
  throw_internal("a kind of code that nothing generates", target_.description.platform);
}

}  // namespace tapml::pipeline
