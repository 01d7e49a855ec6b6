#include <algorithm>
#include <limits>

#include "schedule/rules/gpu_row_group.h"
#include "schedule/rules/online_softmax.h"
#include "schedule/rules/row_buffers.h"
#include "schedule/rules/rules.h"
#include "tir/queries.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kPositionsOfThread = 4;  // in a block
constexpr int64_t kLeastBlock = 16;

Buffer shared_f32(const std::string& name, Dims shape) {
  return make_buffer(name, DType::kF32, std::move(shape), Scope::kShared);
}

// Processes a row in blocks of positions. The stages of one block, and the state that the row
// carries between blocks, are in local memory.
class BlockedRow {
 public:
  BlockedRow(const OnlineSoftmax& s, size_t depth, int64_t block)
      : s_(s), depth_(depth), block_(block) {
    Dims points;
    for (size_t d = depth; d < s.values.spatial.size(); ++d) {
      points.push_back(s.values.spatial[d].extent);
      point_.emplace_back(s.values.spatial[d].var);
    }
    if (points.empty()) {
      points.emplace_back(1);
      point_.emplace_back(0);
    }
    sums_ = shared_f32("sums", points);
  }

  std::vector<Buffer> buffers() const {
    return {scores_, exps_, peak_, next_, factor_, total_, sums_};
  }

  // Runs before the first block, and after the last.
  std::vector<Stage> start() const {
    const double least =
        std::max<double>(s_.peak.init_value->float_value, std::numeric_limits<float>::lowest());
    return {row_stage(peak_, make_float(least, DType::kF32), s_.peak),
            row_stage(total_, s_.total.init_value, s_.total),
            point_stage(sums_, s_.values.init_value)};
  }
  Stage finish() const {
    Stage stage = point_stage(s_.values.final_out, in_block(s_.values.final_value, s_.values.out));
    stage.final_value = stage.value = rewrite_expr(stage.value, [&](const PrimExpr& e) {
      const bool is_own = is_load_of(e, s_.values.out);
      return is_own ? load(sums_, point_) : PrimExpr();
    });
    stage.indices = stage.final_indices = s_.values.final_indices;
    return stage;
  }

  // The stages between barriers of a block, in order. The block has `count` positions starting at
  // `first`.
  std::vector<std::vector<Stage>> phases(const PrimExpr& first, const PrimExpr& count) const {
    const Places places = {first, count};
    Stage scores = s_.scores;
    const Var score = to_block(scores.spatial.back(), places, scores);
    redirect(scores, scores_, {score});
    const Stage peak = reduction(s_.peak, next_, {0}, places,
                                 [&](const PrimExpr& own) { return max(own, load(peak_, {0})); });
    Stage exps = s_.exps;
    const Var exp = to_block(exps.spatial.back(), places, exps);
    redirect(exps, exps_, {exp});
    const PrimExpr fall = load(peak_, {0}) - load(next_, {0});
    const Stage factor = row_stage(factor_, make_call("exp", DType::kF32, {fall}), s_.peak);
    const Stage total = reduction(s_.total, total_, {0}, places, [&](const PrimExpr& own) {
      return load(total_, {0}) * load(factor_, {0}) + own;
    });
    const Stage values = reduction(s_.values, sums_, point_, places, [&](const PrimExpr& own) {
      return load(sums_, point_) * load(factor_, {0}) + own;
    });
    const Stage keep = row_stage(peak_, load(next_, {0}), s_.peak);
    return {{scores}, {peak}, {exps, factor}, {total, values, keep}};
  }

 private:
  struct Places {
    PrimExpr first, count;
  };

  // Replaces the row's intermediates by the block's, with positions relative to the block
  // (`place`).
  PrimExpr in_block(const PrimExpr& expr, const Buffer& own, const PrimExpr& place = {}) const {
    return rewrite_expr(expr, [&](const PrimExpr& e) -> PrimExpr {
      if (e.kind() != ExprKind::kLoad) return {};
      const Buffer buffer = load_buffer(e);
      if (buffer == own) return {};
      if (buffer == s_.scores.out && place) return load(scores_, {place});
      if (buffer == s_.exps.out && place) return load(exps_, {place});
      if (buffer == s_.peak.out) return load(place ? next_ : peak_, {0});
      if (buffer == s_.total.out) return load(total_, {0});
      return {};
    });
  }

  // Replaces the position iterator `iter` of the stage by an offset in the block.
  Var to_block(BlockIter& iter, const Places& places, Stage& stage) const {
    const Var place = make_var("place");
    const VarMap at = {{iter.var.get(), places.first + place}};
    for (PrimExpr* e : {&stage.value, &stage.final_value}) {
      *e = tapml::substitute(in_block(*e, stage.out, place), at);
    }
    iter.var = place;
    iter.extent = places.count;
    return place;
  }

  static void redirect(Stage& stage, const Buffer& to, std::vector<PrimExpr> indices) {
    const Buffer from = stage.out;
    for (PrimExpr* value : {&stage.value, &stage.final_value}) {
      *value = rewrite_expr(*value, [&](const PrimExpr& e) {
        const bool is_own = is_load_of(e, from);
        return is_own ? load(to, indices) : PrimExpr();
      });
    }
    stage.out = stage.final_out = to;
    stage.indices = stage.final_indices = std::move(indices);
  }

  // A block's part of a reduction, stored after applying `last`.
  Stage reduction(const Stage& given, const Buffer& to, std::vector<PrimExpr> indices,
                  const Places& places,
                  const std::function<PrimExpr(const PrimExpr& own)>& last) const {
    Stage stage = given;
    to_block(stage.reduction[0], places, stage);
    stage.final_out = to;
    stage.final_indices = std::move(indices);
    stage.final_value = last(load(stage.out, stage.indices));
    return stage;
  }

  // A stage with one value for each row.
  Stage row_stage(const Buffer& to, const PrimExpr& value, const Stage& like) const {
    Stage stage = like;
    stage.spatial.resize(depth_);
    stage.reduction.clear();
    return pointwise(std::move(stage), to, {0}, value);
  }
  // A stage with one value for each point that the row sums.
  Stage point_stage(const Buffer& to, const PrimExpr& value) const {
    Stage stage = s_.values;
    stage.reduction.clear();
    return pointwise(std::move(stage), to, point_, value);
  }
  static Stage pointwise(Stage stage, const Buffer& to, std::vector<PrimExpr> indices,
                         const PrimExpr& value) {
    stage.simple = true;
    stage.init_value = {};
    stage.out = stage.final_out = to;
    stage.indices = stage.final_indices = std::move(indices);
    stage.value = stage.final_value = value;
    return stage;
  }

  const OnlineSoftmax& s_;
  size_t depth_;
  int64_t block_;
  std::vector<PrimExpr> point_;  // of sums_, in terms of the iterators of s_.values
  const Buffer scores_ = shared_f32("scores_block", {block_});
  const Buffer exps_ = shared_f32("exps_block", {block_});
  const Buffer peak_ = shared_f32("peak", {1}), next_ = shared_f32("next_peak", {1});
  const Buffer factor_ = shared_f32("factor", {1}), total_ = shared_f32("total", {1});
  Buffer sums_;
};

}  // namespace

std::optional<LaunchPlan> gpu_attention(const Group& group, StagedProgram& program) {
  StagedProgram rows = program;
  const std::optional<RowSpace> space = bring_rows_first(rows);
  if (!space) return std::nullopt;
  const size_t depth = space->size();
  Var item = make_var("row"), block = make_var("block");
  const VarMap at = decode(*space, item);
  const auto softmax = find_online_softmax(rows, *space, at);
  if (!softmax) return std::nullopt;
  const PrimExpr& all = softmax->scores.spatial.back().extent;
  for (int64_t size = kPositionsOfThread * group.threads; size >= kLeastBlock; size /= 2) {
    // A single block is handled equally well by other rules.
    if (all.is_int() && all->int_value <= size) return std::nullopt;
    const BlockedRow blocked(*softmax, depth, size);
    const PrimExpr first = block * size;
    const auto phases = blocked.phases(first, min(PrimExpr(size), softmax->positions - first));
    RowGroup row(group, depth);
    int64_t bytes = 0;
    for (const std::vector<Stage>& phase : phases) bytes += row.partial_bytes(phase);
    std::vector<Buffer> shared = blocked.buffers();
    bool is_known = true;
    for (const Buffer& buffer : shared) {
      is_known &= scratch_bytes(buffer) > 0;
      bytes += scratch_bytes(buffer);
    }
    if (!is_known) return std::nullopt;
    if (bytes > group.local_bytes) continue;
    auto run = [&](const Stage& stage) { return row.stage(stage, at_row(stage, *space, at)); };
    std::vector<Stmt> parts, steps;
    for (const Stage& stage : blocked.start()) parts.push_back(run(stage));
    for (const std::vector<Stage>& phase : phases) {
      for (const Stage& stage : phase) steps.push_back(run(stage));
      steps.push_back(make_barrier());
    }
    parts.push_back(
        make_for(block, ceil_div(softmax->positions, size), make_seq(std::move(steps))));
    parts.push_back(make_barrier());
    parts.push_back(run(blocked.finish()));
    shared.insert(shared.end(), row.shared().begin(), row.shared().end());
    rows.intermediates.clear();
    program = std::move(rows);
    const GroupWork work = {item, product(*space), std::move(shared), make_seq(std::move(parts))};
    return LaunchPlan{launch_groups(group, work), "gpu_attention"};
  }
  return std::nullopt;
}

}  // namespace tapml::schedule
