#include "schedule/rules/groups.h"
#include "schedule/rules/row_buffers.h"
#include "schedule/rules/row_stages.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {
constexpr int64_t kLocalRowBytes = 16384;  // a few of these fit in the L1 cache
}  // namespace

std::optional<LaunchPlan> cpu_rows(const PrimFunc& func, StagedProgram& program) {
  std::optional<RowSpace> space = bring_rows_first(program);
  if (!space) return std::nullopt;
  share_output_memory(func, program);
  std::vector<Buffer> locals =
      keep_rows(program, space->size(), {.scope = Scope::kLocal, .each = kLocalRowBytes});
  Var item = make_var("item");
  VarMap row = decode(*space, item);
  std::vector<Stmt> parts;
  for (const Stage& stage : program.stages) {
    const Stage split = stage.spatial.size() > space->size() ? split_lanes(stage) : stage;
    parts.push_back(emit_nest(split, space->size(), at_row(split, *space, row), true));
  }
  Stmt body = make_seq(std::move(parts));
  for (const Buffer& local : locals) body = make_alloc(local, body);
  return LaunchPlan{make_for(item, product(*space), body, ForKind::kParallel), "cpu_rows"};
}

}  // namespace tapml::schedule
