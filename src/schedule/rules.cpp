#include "schedule/rules.h"

#include "schedule/rules/groups.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

namespace {

// A body of any form as one launch each nest; outermost loops stay what they are.
Scheduled as_written(const tir::PrimFunc& func) {
  return {std::make_shared<tir::PrimFunc>(func), "as_written"};
}

LaunchPlan cpu_stage_without_packing(const Stage& stage, int64_t vector_bytes) {
  if (auto plan = cpu_matmul(stage)) return *plan;
  if (auto plan = cpu_columns(stage, vector_bytes)) return *plan;
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

}  // namespace

Scheduled fallback(const tir::PrimFunc& func, const target::Target& target) {
  auto program = find_stages(func);
  if (!program) return as_written(func);
  inline_producers(*program);
  fold_epilogues(*program);
  int64_t threads = target.description.gpu_like ? target.description.workgroup_threads : 1;
  return stage_by_stage(func, *program, one_item_a_point, threads);
}

Scheduled schedule_for(const tir::PrimFunc& func, const target::Target& target) {
  if (target.description.gpu_like) return fallback(func, target);
  auto program = find_stages(func);
  if (!program) return as_written(func);
  inline_producers(*program);
  fold_epilogues(*program);
  if (auto plan = cpu_rows(func, *program)) {
    return {finish(func, *program, plan->nest), plan->rule};
  }
  const int64_t vector_bytes = target.description.vector_bytes;
  auto without_packing = [&](const Stage& stage) {
    return cpu_stage_without_packing(stage, vector_bytes);
  };
  auto cpu_stage = [&](const Stage& stage) {
    auto plan = cpu_product(split_groups(stage), vector_bytes, without_packing);
    return plan ? *plan : without_packing(stage);
  };
  return stage_by_stage(func, *program, cpu_stage, 1);
}

}  // namespace tapml::schedule
