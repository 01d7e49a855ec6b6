#include "tir/unrolled.h"

#include <algorithm>

namespace tapml::tir {

int64_t unrolled_copies(const Stmt& stmt) {
  if (!stmt) return 1;
  switch (stmt->kind) {
    case StmtKind::kFor: {
      const auto& node = as<ForNode>(stmt);
      const int64_t inner = unrolled_copies(node.body);
      if (node.for_kind != ForKind::kUnrolled || !node.extent.is_int()) return inner;
      constexpr int64_t kMore = kMostUnrolledTogether + 1;
      return std::min(kMore, std::clamp<int64_t>(node.extent->int_value, 1, kMore) * inner);
    }
    case StmtKind::kSeq: {
      int64_t most = 1;
      for (const Stmt& part : as<SeqNode>(stmt).stmts) most = std::max(most, unrolled_copies(part));
      return most;
    }
    case StmtKind::kIf:
      return std::max(unrolled_copies(as<IfNode>(stmt).then_body),
                      unrolled_copies(as<IfNode>(stmt).else_body));
    case StmtKind::kAlloc:
      return unrolled_copies(as<AllocNode>(stmt).body);
    case StmtKind::kBlock:
      return std::max(unrolled_copies(as<BlockNode>(stmt).init),
                      unrolled_copies(as<BlockNode>(stmt).body));
    case StmtKind::kStore:
    case StmtKind::kBarrier:
    case StmtKind::kMatrix:
    case StmtKind::kCopyAsync:
    case StmtKind::kCommitCopies:
    case StmtKind::kWaitCopies:
      return 1;
  }
  return 1;
}

}  // namespace tapml::tir
