#include "schedule/rules.h"

#include <algorithm>

#include "schedule/rules/gpu_groups.h"
#include "schedule/rules/groups.h"
#include "schedule/rules/rules.h"
#include "tir/scalar_ranges.h"

namespace tapml::schedule {

namespace {

// Emits a body of any form as one launch for each nest; outermost loops stay unchanged.
Scheduled as_written(const tir::PrimFunc& func) {
  return {std::make_shared<tir::PrimFunc>(func), "as_written"};
}

std::vector<tir::Buffer> weights_of(const tir::PrimFunc& func) {
  std::vector<tir::Buffer> weights;
  const std::optional<std::vector<int64_t>>& params = func.facts.weights;
  for (size_t i = 0; params && i < params->size(); ++i) {
    const int64_t param = (*params)[i];
    if (param < 0 || param >= static_cast<int64_t>(func.params.size())) continue;
    weights.push_back(func.params[static_cast<size_t>(param)].buffer);
  }
  return weights;
}

LaunchPlan cpu_stage_without_packing(const Stage& stage, const target::VectorRegisters& vectors) {
  if (auto plan = cpu_matmul(stage)) return *plan;
  if (auto plan = cpu_columns(stage, vectors)) return *plan;
  if (auto plan = cpu_reduction(stage)) return *plan;
  if (auto plan = cpu_elementwise(stage)) return *plan;
  if (auto plan = cpu_scan(stage)) return *plan;
  return one_item_a_point(stage);
}

Scheduled stage_by_stage(const tir::PrimFunc& func, const StagedProgram& program,
                         const std::function<LaunchPlan(const Stage&)>& plan_of,
                         int64_t workgroup_threads) {
  std::vector<tir::Stmt> nests;
  std::string rules;
  for (const Stage& stage : program.stages) {
    LaunchPlan plan = plan_of(stage);
    nests.push_back(plan.nest);
    if (rules.find(plan.rule) == std::string::npos) {
      rules += (rules.empty() ? "" : "+") + std::string(plan.rule);
    }
  }
  return {finish(func, program, tir::make_seq(std::move(nests)), workgroup_threads), rules};
}

Scheduled gpu_schedule(const tir::PrimFunc& func, const target::Target& target) {
  auto program = find_stages(func);
  if (!program) return fallback(func, target);
  inline_producers(*program);
  fold_epilogues(*program);
  const Group group(target.description);
  if (auto plan = gpu_attention(group, *program)) {
    return {finish(func, *program, plan->nest, group.threads), plan->rule};
  }
  if (auto plan = gpu_rows(func, group, *program)) {
    return {finish(func, *program, plan->nest, group.threads), plan->rule};
  }
  const bool lanes = target.description.cpu_like_subgroups;
  if (lanes && program->stages.size() == 1) {
    const Group one = group.of_one_subgroup();
    if (auto plan = gpu_lane_product(split_groups(program->stages[0]), one)) {
      return {finish(func, *program, plan->nest, one.threads), plan->rule};
    }
  }
  auto gpu_stage = [&](const Stage& stage) {
    if (lanes) {
      if (auto plan = gpu_lane_product(split_groups(stage), group)) return *plan;
    }
    if (auto plan = gpu_product(split_groups(stage), group)) return *plan;
    if (auto plan = gpu_reduction(stage, group)) return *plan;
    if (auto plan = gpu_elementwise(stage)) return *plan;
    return one_item_a_point(stage);
  };
  return stage_by_stage(func, *program, gpu_stage, group.threads);
}

// Items are pieces of work for one processor; in grouped launches, each item is a group.
Scheduled cpu_schedule(const tir::PrimFunc& func, const target::Target& target) {
  auto program = find_stages(func);
  if (!program) return as_written(func);
  inline_producers(*program);
  fold_epilogues(*program);
  const target::VectorRegisters& vectors = target.description.vectors;
  if (auto plan = cpu_rows(func, *program)) {
    return {finish(func, *program, plan->nest), plan->rule};
  }
  auto without_packing = [&](const Stage& stage) {
    return cpu_stage_without_packing(stage, vectors);
  };
  // Packing is a preparation step, which needs 64-bit indices.
  std::vector<tir::Buffer> weights;
  if (target.description.index_bits == 64) weights = weights_of(func);
  auto cpu_stage = [&](const Stage& stage) {
    if (target::multiplies_bytes(target.description)) {
      if (auto integer = cpu_integer(stage, weights, vectors)) return *integer;
    }
    if (auto packed = cpu_packed(stage, weights, vectors)) return *packed;
    if (auto packed = cpu_quantized(stage, weights, vectors)) return *packed;
    if (auto gathered = cpu_gathered(stage, weights, vectors, without_packing)) return *gathered;
    auto plan = cpu_product(split_groups(stage), vectors, without_packing);
    return plan ? *plan : without_packing(stage);
  };
  return stage_by_stage(func, *program, cpu_stage, 1);
}

}  // namespace

Scheduled fallback(const tir::PrimFunc& written, const target::Target& target) {
  const tir::PrimFuncRef counted =
      tir::with_counted_loops(std::make_shared<tir::PrimFunc>(written));
  const tir::PrimFunc& func = *counted;
  auto program = find_stages(func);
  if (!program) return as_written(func);
  inline_producers(*program);
  fold_epilogues(*program);
  int64_t threads = target.description.gpu_like ? target.description.workgroup_threads : 1;
  return stage_by_stage(func, *program, one_item_a_point, threads);
}

Scheduled schedule_for(const tir::PrimFunc& func, const target::Target& target) {
  const target::Description& description = target.description;
  const auto option = target.options.find("schedule");
  const bool is_simple =
      option == target.options.end() ? description.short_code : option->second == "fallback";
  if (is_simple) return fallback(func, target);
  const bool groups = description.gpu_like && !description.cpu_like_groups;
  const tir::PrimFuncRef counted = tir::with_counted_loops(std::make_shared<tir::PrimFunc>(func));
  return groups ? gpu_schedule(*counted, target) : cpu_schedule(*counted, target);
}

}  // namespace tapml::schedule
