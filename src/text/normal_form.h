// Views of programs without the grouping that structural equality ignores.
#pragma once

#include <vector>

#include "relax/expr.h"
#include "tir/stmt.h"

namespace tapml::text {

struct BlockView {
  bool dataflow = false;
  std::vector<const relax::Binding*> bindings;
};

// Merges adjacent plain blocks and omits empty ones.
inline std::vector<BlockView> merged_blocks(const relax::SeqNode& seq) {
  std::vector<BlockView> views;
  for (const relax::Block& block : seq.blocks) {
    if (!block.dataflow && block.bindings.empty()) continue;
    if (block.dataflow || views.empty() || views.back().dataflow)
      views.push_back({block.dataflow, {}});
    for (const relax::Binding& binding : block.bindings) views.back().bindings.push_back(&binding);
  }
  return views;
}

// Appends the statements of a sequence, flattening nested sequences; a null statement adds nothing.
inline void flatten(const tir::Stmt& stmt, std::vector<tir::Stmt>& into) {
  if (stmt && stmt->kind == tir::StmtKind::kSeq) {
    for (const tir::Stmt& inner : tir::as<tir::SeqNode>(stmt).stmts) flatten(inner, into);
  } else if (stmt) {
    into.push_back(stmt);
  }
}

}  // namespace tapml::text
