#include "schedule/rules/row_stages.h"

#include <algorithm>
#include <set>

#include "arith/analyzer.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

const BlockIter* spatial_iter(const Stage& stage, const PrimExpr& index) {
  for (const BlockIter& iter : stage.spatial) {
    if (iter.var.same_as(index)) return &iter;
  }
  return nullptr;
}

// The iterators of a stage that run over the rows, in the order of the row space.
using RowIters = std::vector<const BlockIter*>;

// Extends or checks `rows` with the first `depth` indices of an access to an intermediate, not
// counting dimensions of extent 1.
bool match_rows(const Stage& stage, const Buffer& buffer, const std::vector<PrimExpr>& indices,
                size_t depth, RowIters& rows) {
  RowIters found;
  for (size_t d = 0; d < indices.size() && found.size() < depth; ++d) {
    if (buffer->shape[d].is_int(1)) continue;
    const BlockIter* iter = spatial_iter(stage, indices[d]);
    if (!iter || std::find(found.begin(), found.end(), iter) != found.end()) return false;
    found.push_back(iter);
  }
  if (found.size() < depth) return false;
  if (rows.empty()) rows = found;
  return rows == found;
}

// The row iterators of every stage, for a row space of `depth` dimensions.
std::optional<std::vector<RowIters>> assign_rows(const StagedProgram& program, size_t depth) {
  std::vector<RowIters> all;
  arith::Analyzer analyzer;
  for (const Stage& stage : program.stages) {
    if (!stage.simple) return std::nullopt;
    RowIters rows;
    bool agrees = true;
    auto scan = [&](const PrimExpr& root) {
      if (!root) return;
      visit_expr(root, [&](const PrimExpr& e) {
        if (e.kind() != ExprKind::kLoad) return;
        Buffer buffer = load_buffer(e);
        if (buffer == stage.out && stage.reduces()) return;
        if (std::find(program.intermediates.begin(), program.intermediates.end(), buffer) ==
            program.intermediates.end()) {
          return;
        }
        agrees = agrees && match_rows(stage, buffer, e->operands, depth, rows);
      });
    };
    scan(stage.value);
    scan(stage.init_value);
    scan(stage.final_value);
    bool writes_intermediate = std::find(program.intermediates.begin(), program.intermediates.end(),
                                         stage.final_out) != program.intermediates.end();
    if (writes_intermediate) {
      agrees = agrees && match_rows(stage, stage.final_out, stage.final_indices, depth, rows);
    }
    if (!agrees || rows.empty()) return std::nullopt;
    for (size_t d = 0; d < depth && !all.empty(); ++d) {
      if (!analyzer.prove_equal(rows[d]->extent, all.front()[d]->extent)) return std::nullopt;
    }
    all.push_back(std::move(rows));
  }
  return all;
}

// Whether a stage reads a parameter that a stage writes, which would race between rows.
bool updates_in_place(const StagedProgram& program) {
  std::set<const BufferNode*> written;
  for (const Stage& stage : program.stages) written.insert(stage.final_out.get());
  for (const Buffer& intermediate : program.intermediates) written.erase(intermediate.get());
  bool found = false;
  for (const Stage& stage : program.stages) {
    for (const PrimExpr& root : {stage.value, stage.init_value, stage.final_value}) {
      if (!root) continue;
      visit_expr(root, [&](const PrimExpr& e) {
        if (e.kind() != ExprKind::kLoad || load_buffer(e) == stage.out) return;
        found |= written.contains(load_buffer(e).get());
      });
    }
  }
  return found;
}

// The spatial iterators of the stage, row iterators first.
std::vector<BlockIter> rows_first(const Stage& stage, const RowIters& rows) {
  std::vector<BlockIter> result;
  for (const BlockIter* row : rows) result.push_back(*row);
  for (const BlockIter& iter : stage.spatial) {
    if (std::find(rows.begin(), rows.end(), &iter) == rows.end()) result.push_back(iter);
  }
  return result;
}

}  // namespace

std::optional<RowSpace> bring_rows_first(StagedProgram& program) {
  if (program.stages.size() < 2) return std::nullopt;
  size_t deepest = 8;
  for (const Stage& stage : program.stages) deepest = std::min(deepest, stage.spatial.size());
  for (size_t depth = deepest; depth > 0; --depth) {
    auto rows = assign_rows(program, depth);
    if (!rows) continue;
    if (updates_in_place(program)) return std::nullopt;
    RowSpace space;
    for (const BlockIter* iter : rows->front()) space.push_back(*iter);
    for (size_t s = 0; s < program.stages.size(); ++s) {
      program.stages[s].spatial = rows_first(program.stages[s], (*rows)[s]);
    }
    return space;
  }
  return std::nullopt;
}

VarMap at_row(const Stage& stage, const RowSpace& space, const VarMap& row) {
  VarMap values;
  for (size_t d = 0; d < space.size(); ++d) {
    values[stage.spatial[d].var.get()] = row.at(space[d].var.get());
  }
  return values;
}

}  // namespace tapml::schedule
