#include "schedule/rules/row_buffers.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "tir/queries.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

using Indices = std::vector<PrimExpr>;

// Redirects every access of a stage from `from` to `to`, with other indices.
class Redirect {
 public:
  Redirect(Buffer from, Buffer to, std::function<Indices(const Indices&)> indices)
      : from_(std::move(from)), to_(std::move(to)), indices_(std::move(indices)) {}

  void operator()(Stage& stage) const {
    for (PrimExpr* e : {&stage.value, &stage.init_value, &stage.final_value}) {
      if (*e) *e = loads(*e);
    }
    for (Indices* list : {&stage.indices, &stage.final_indices}) {
      for (PrimExpr& index : *list) index = loads(index);
    }
    if (stage.out == from_) {
      stage.out = to_;
      stage.indices = indices_(stage.indices);
    }
    if (stage.final_out == from_) {
      stage.final_out = to_;
      stage.final_indices = indices_(stage.final_indices);
    }
  }

 private:
  PrimExpr loads(const PrimExpr& expr) const {
    return rewrite_expr(expr, [&](const PrimExpr& e) {
      if (!is_load_of(e, from_)) return PrimExpr();
      return load(to_, indices_(e->operands));
    });
  }

  Buffer from_, to_;
  std::function<Indices(const Indices&)> indices_;
};

std::vector<PrimExpr> reads_of(const Stage& stage, const Buffer& buffer) {
  std::vector<PrimExpr> found;
  auto scan = [&](const PrimExpr& root) {
    if (!root) return;
    visit_expr(root, [&](const PrimExpr& e) {
      if (is_load_of(e, buffer)) found.push_back(e);
    });
  };
  for (const PrimExpr& e : {stage.value, stage.init_value, stage.final_value}) scan(e);
  for (const PrimExpr& index : stage.final_indices) scan(index);
  return found;
}

bool same_shape(const Buffer& a, const Buffer& b) {
  if (a->dtype != b->dtype || a->shape.size() != b->shape.size()) return false;
  arith::Analyzer analyzer;
  for (size_t d = 0; d < a->shape.size(); ++d) {
    if (!analyzer.prove_equal(a->shape[d], b->shape[d])) return false;
  }
  return true;
}

bool reads_or_writes(const Stage& stage, const Buffer& buffer) {
  return stage.out == buffer || stage.final_out == buffer || !reads_of(stage, buffer).empty();
}

// Whether stage `s` computes a buffer from `from` point by point, with no earlier access to that
// buffer and no later read of `from`.
bool can_share(const StagedProgram& program, size_t s, const Buffer& from) {
  const Stage& stage = program.stages[s];
  const Buffer& to = stage.final_out;
  if (stage.reduces() || from == to || !same_shape(from, to)) return false;
  std::vector<PrimExpr> loads = reads_of(stage, from);
  if (loads.empty() || !reads_of(stage, to).empty()) return false;
  for (const PrimExpr& load : loads) {
    for (size_t d = 0; d < load->operands.size(); ++d) {
      if (!same_expr(load.operand(d), stage.final_indices[d])) return false;
    }
  }
  for (size_t other = 0; other < program.stages.size(); ++other) {
    if (other < s && reads_or_writes(program.stages[other], to)) return false;
    if (other > s && reads_or_writes(program.stages[other], from)) return false;
  }
  return true;
}

bool is_among(const std::vector<Buffer>& list, const Buffer& buffer) {
  return std::find(list.begin(), list.end(), buffer) != list.end();
}

}  // namespace

void share_output_memory(const PrimFunc& func, StagedProgram& program) {
  for (size_t s = program.stages.size(); s-- > 0;) {
    const Buffer to = program.stages[s].final_out;
    bool fresh = is_among(program.intermediates, to);
    for (const Param& param : func.params) {
      fresh |= param.buffer == to && param.mode == AccessMode::kOut;
    }
    if (!fresh) continue;
    for (const Buffer& from : std::vector<Buffer>(program.intermediates)) {
      if (!can_share(program, s, from)) continue;
      Redirect redirect(from, to, [](const Indices& indices) { return indices; });
      for (Stage& stage : program.stages) redirect(stage);
      std::erase(program.intermediates, from);
      break;
    }
  }
}

int64_t scratch_bytes(const Buffer& buffer) {
  int64_t bytes = std::max<int64_t>(4, dtype_bytes(buffer->dtype));
  for (const PrimExpr& extent : buffer->shape) {
    constexpr int64_t kMost = 1 << 20;  // products of two do not overflow
    if (!extent.is_int() || extent->int_value < 1 || extent->int_value > kMost) return 0;
    bytes = std::min(kMost, bytes) * extent->int_value;
  }
  return bytes;
}

std::vector<Buffer> keep_rows(StagedProgram& program, size_t depth, const RowMemory& memory) {
  std::vector<Buffer> kept_buffers;
  int64_t left = memory.together;
  for (const Buffer& buffer : std::vector<Buffer>(program.intermediates)) {
    std::vector<size_t> kept;
    size_t rows = 0;
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      if (buffer->shape[d].is_int(1)) continue;
      if (rows++ >= depth) kept.push_back(d);
    }
    Dims shape;
    for (size_t d : kept) shape.push_back(buffer->shape[d]);
    if (shape.empty()) shape.push_back(1);
    Buffer row = make_buffer(buffer->name + "_row", buffer->dtype, shape, memory.scope);
    const int64_t bytes = scratch_bytes(row);
    if (bytes == 0 || bytes > memory.each || bytes > left) continue;
    left -= bytes;
    Redirect redirect(buffer, row, [&](const Indices& indices) {
      Indices result;
      for (size_t d : kept) result.push_back(indices[d]);
      if (result.empty()) result.push_back(0);
      return result;
    });
    for (Stage& stage : program.stages) redirect(stage);
    std::erase(program.intermediates, buffer);
    kept_buffers.push_back(row);
  }
  return kept_buffers;
}

}  // namespace tapml::schedule
