#include "ir/queries.h"
#include "schedule/rules/rules.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kScanBytes = 1024;  // of adjacent points in one item

// Whether adjacent values of `var` are adjacent in memory.
bool steps_by_one(const std::vector<PrimExpr>& indices, const Var& var) {
  for (size_t i = 0; i + 1 < indices.size(); ++i) {
    if (uses(indices[i], var)) return false;
  }
  return !indices.empty() && indices.back().same_as(var);
}

}  // namespace

std::optional<LaunchPlan> cpu_scan(const Stage& stage) {
  if (stage.simple || stage.reduces() || stage.init || stage.spatial.empty()) return std::nullopt;
  if (stage.body->kind != StmtKind::kFor) return std::nullopt;
  const auto& loop = as<ForNode>(stage.body);
  if (loop.for_kind != ForKind::kSerial || loop.body->kind != StmtKind::kStore) {
    return std::nullopt;
  }
  const auto& store = as<StoreNode>(loop.body);
  const BlockIter& lane = stage.spatial.back();
  if (uses(loop.extent, lane.var) || !steps_by_one(store.indices, lane.var)) {
    return std::nullopt;
  }
  const int64_t width = kScanBytes / dtype_bytes(store.buffer->dtype);
  std::vector<BlockIter> outer = stage.spatial;
  outer.back().var = make_var("piece");
  outer.back().extent = ceil_div(lane.extent, width);
  Var item = make_var("item"), step = make_var(loop.var->name), at = make_var(lane.var->name);
  VarMap values = decode(outer, item);
  PrimExpr first = values.at(outer.back().var.get()) * width;
  PrimExpr extent = tapml::substitute(loop.extent, values);
  values[lane.var.get()] = first + at;
  values[loop.var.get()] = step;
  Stmt lanes = make_for(at, min(PrimExpr(width), lane.extent - first),
                        tir::substitute(loop.body, values), ForKind::kVectorized);
  return LaunchPlan{
      make_for(item, product(outer), make_for(step, extent, lanes), ForKind::kParallel),
      "cpu_scan"};
}

}  // namespace tapml::schedule
