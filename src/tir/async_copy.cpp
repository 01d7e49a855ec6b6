#include "tir/async_copy.h"

namespace tapml::tir {

Stmt make_copy_async(Region to, Region from) {
  auto node = std::make_shared<CopyAsyncNode>();
  node->to = std::move(to);
  node->from = std::move(from);
  return node;
}

Stmt make_commit_copies() { return std::make_shared<CommitCopiesNode>(); }

Stmt make_wait_copies(int64_t outstanding) {
  auto node = std::make_shared<WaitCopiesNode>();
  node->outstanding = outstanding;
  return node;
}

std::optional<std::vector<int64_t>> box_extents(const Region& region) {
  std::vector<int64_t> extents;
  for (const PrimExpr& extent : region.extents) {
    if (!extent || !extent.is_int()) return std::nullopt;
    if (extent->int_value != 1) extents.push_back(extent->int_value);
  }
  return extents;
}

bool is_async(const Stmt& stmt) {
  return stmt->kind == StmtKind::kCopyAsync || stmt->kind == StmtKind::kCommitCopies ||
         stmt->kind == StmtKind::kWaitCopies;
}

}  // namespace tapml::tir
