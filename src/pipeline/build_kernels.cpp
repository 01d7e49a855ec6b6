#include "pipeline/build_kernels.h"

#include <algorithm>
#include <iterator>

#include "arith/scalar_program.h"
#include "base/clock.h"
#include "codegen/code_generators.h"
#include "codegen/lower/check_program.h"
#include "codegen/lower/narrow_index.h"
#include "codegen/lower/segment_tensors.h"
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
    : target_(target),
      options_(options),
      executable_(executable),
      generator_(codegen::generator_of(target)) {}

bool KernelBuilder::add_from_cache(Part& part, int32_t kernel,
                                   const std::vector<std::optional<int64_t>>& most, bool by_rules) {
  std::string text = executable_.kernels[static_cast<size_t>(kernel)].spec;
  if (!by_rules) text += "\nby the fallback's schedule";
  for (const std::optional<int64_t>& bound : most) {
    text += "\nat most " + (bound ? std::to_string(*bound) : "any");
  }
  part.key = KernelCache::key(text, target_);
  auto known = options_.cache->find(part.key);
  if (!known) return false;
  part.cached = true;
  part.code = std::move(known->code);
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
  const bool is_kept =
      generator_.kept() == codegen::Kept::kAll ||
      (generator_.kept() == codegen::Kept::kOwnModules && options_.module_per_kernel);
  Part part;
  part.implementation = executable_.implementations.size();
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
  if (is_kept && options_.cache && !rewritten && add_from_cache(part, kernel, most, by_rules)) {
    if (!written.empty()) executable_.implementations[part.implementation].provider = written;
    parts_.push_back(std::move(part));
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
  const bool alias = may_alias(func);
  for (codegen::DeviceFunc& launch : code) {
    launch.may_alias = alias;
    if (options_.lowered) options_.lowered(launch);
  }
  if (!compiler_) compiler_ = generator_.compiler(target_, options_.threads);
  compiler_->add(name, std::move(code));
  parts_.push_back(std::move(part));
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
      codegen::narrow_index(launch, wide, where, generator_.needs_narrow_index());
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
    for (size_t i = 0; i < parts_.size() && modules.size() > 1; ++i) {
      executable_.implementations[parts_[i].implementation].module =
          static_cast<int32_t>(executable_.modules.size() + i);
    }
    std::ranges::move(modules, std::back_inserter(executable_.modules));
  }
  add_time(options_.instruments, "codegen", seconds_now() - start);
}

void KernelBuilder::keep(const Part& part) {
  if (part.key.empty()) return;
  CachedKernel kernel{executable_.implementations[part.implementation], part.code};
  kernel.implementation.kernel = 0;
  options_.cache->keep(part.key, kernel);
}

std::vector<ModuleBlob> KernelBuilder::generate() {
  std::vector<codegen::KernelCode> made, all;
  if (compiler_) made = compiler_->finish(options_.instruments.watcher);
  auto next = made.begin();
  for (Part& part : parts_) {
    if (!part.cached) {
      part.code = std::move(*next++);
      keep(part);
    }
    all.push_back(std::move(part.code));
  }
  const bool apart = options_.module_per_kernel && generator_.driver_builds_modules();
  if (!apart || all.empty()) return {generator_.link(all, target_)};
  std::vector<ModuleBlob> modules;
  for (codegen::KernelCode& one : all) {
    modules.push_back(generator_.link({std::move(one)}, target_));
  }
  return modules;
}

}  // namespace tapml::pipeline
