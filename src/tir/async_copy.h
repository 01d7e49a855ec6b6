// Copies from global to shared memory that run while the thread computes.
//
//   copy_async(xs[s, r, c +: 8], x[i, k +: 8])   starts to copy a box; one of each thread's own
//   commit_copies()                              makes a group of the copies since the last commit
//   wait_copies(1)                               waits until at most 1 group is still on its way
//
// Groups belong to the thread that starts the copies, and complete in their order. The threads of
// the work group see a copied box after a wait of that thread for the group and a barrier that
// follows. Until then the box has no defined value, and nobody may write it or its source. A wait
// for all copies to a buffer comes before the buffer's memory ends.
#pragma once

#include "tir/stmt.h"

namespace tapml::tir {

// Copies the box `from` of a global buffer to the box `to` of a shared one, in row-major order. The
// extents of the boxes are constant and equal, but for dimensions of extent 1.
struct CopyAsyncNode : StmtNode {
  CopyAsyncNode() : StmtNode(StmtKind::kCopyAsync) {}
  Region to, from;
};

struct CommitCopiesNode : StmtNode {
  CommitCopiesNode() : StmtNode(StmtKind::kCommitCopies) {}
};

struct WaitCopiesNode : StmtNode {
  WaitCopiesNode() : StmtNode(StmtKind::kWaitCopies) {}
  int64_t outstanding = 0;  // groups that need not be complete: the last ones
};

Stmt make_copy_async(Region to, Region from);
Stmt make_commit_copies();
Stmt make_wait_copies(int64_t outstanding);

// Extents other than 1, in order; std::nullopt if any extent is not a constant.
std::optional<std::vector<int64_t>> box_extents(const Region& region);

// Whether the statement starts, commits or waits for copies.
bool is_async(const Stmt& stmt);

}  // namespace tapml::tir
