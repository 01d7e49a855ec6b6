#include <algorithm>

#include "schedule/rules/access.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

namespace {

constexpr int64_t kFewColumns = 4;
constexpr int64_t kShortWindow = 8;  // reductions of up to this many steps are too short to
                                     // vectorize
constexpr int64_t kVectors = 16;     // of sums, kept in registers
constexpr int64_t kFewVectors = 4;   // if conditions need registers too

struct Access {
  bool along = false;   // adjacent columns are adjacent in memory
  bool across = false;  // columns are far apart, but the reduction's steps are adjacent
  bool chooses = false;
};

Access column_access(const Stage& stage) {
  Access access;
  const Var& column = stage.spatial.back().var;
  const tir::BlockIter& step = stage.reduction.back();
  bool few_steps = step.extent.is_int() && step.extent->int_value < kShortWindow;
  visit_expr(stage.value, [&](const PrimExpr& e) {
    access.chooses |= e.kind() == ExprKind::kSelect;
    if (e.kind() != ExprKind::kLoad || tir::load_buffer(e) == stage.out || e->operands.empty()) {
      return;
    }
    bool moves = false;
    for (size_t i = 0; i + 1 < e->operands.size(); ++i) {
      moves |= stride_of(e.operand(i), column) != std::optional<int64_t>(0);
    }
    std::optional<int64_t> stride = stride_of(e->operands.back(), column);
    if (!moves && stride == std::optional<int64_t>(0)) return;  // the same for all columns
    if (!moves && stride == std::optional<int64_t>(1)) {
      access.along = true;
    } else if (!moves && stride && few_steps) {
      access.along = true;
    } else {
      access.across |= stride_of(e->operands.back(), step.var) == std::optional<int64_t>(1);
      access.across |= !stride;  // as in a gather
    }
  });
  return access;
}

}  // namespace

std::optional<LaunchPlan> cpu_columns(const Stage& stage, const target::VectorRegisters& vectors) {
  if (!stage.simple || !stage.reduces() || stage.spatial.empty()) return std::nullopt;
  const tir::BlockIter& column = stage.spatial.back();
  if (column.extent.is_int() && column.extent->int_value < kFewColumns) return std::nullopt;
  Access access = column_access(stage);
  if (!access.along || access.across) return std::nullopt;

  int64_t vector = std::max<int64_t>(1, vectors.bytes / dtype_bytes(stage.out->dtype));
  int64_t width = vector * (access.chooses ? kFewVectors : kVectors);
  const bool one = column.extent.is_int() && column.extent->int_value <= width;
  std::vector<tir::BlockIter> outer(stage.spatial.begin(), stage.spatial.end() - 1);
  Var item = make_var("item");
  tir::Stmt body;
  if (one) {
    VarMap at = decode(outer, item);
    body = emit_columns(stage, at, 0, column.extent, column.extent->int_value);
  } else {
    tir::BlockIter piece = column;
    piece.var = make_var("piece");
    piece.extent = ceil_div(column.extent, width);
    outer.push_back(piece);
    VarMap at = decode(outer, item);
    PrimExpr first = at.at(piece.var.get()) * width;
    body = emit_columns(stage, at, first, width, width);
    if (!column.extent.is_int() || column.extent->int_value % width != 0) {
      tir::Stmt rest = emit_columns(stage, at, first, column.extent - first, width);
      body = tir::make_if(le(first + width, column.extent), body, rest);
    }
  }
  return LaunchPlan{tir::make_for(item, product(outer), body, tir::ForKind::kParallel),
                    "cpu_columns"};
}

}  // namespace tapml::schedule
