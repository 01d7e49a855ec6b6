// Invariant T18: asynchronous copies and the reads of what they copy, in program order.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "analysis/verifier_impl.h"
#include "tir/async_copy.h"
#include "tir/visit.h"

namespace tapml::analysis {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Walks the statements in the order in which one thread runs them, loops twice. A finding is
// certain: for each buffer it follows only the first copy, and whatever may complete this copy or
// write the buffer otherwise ends the search in this buffer.
class AsyncWalk {
 public:
  explicit AsyncWalk(Report& report) : report_(report) {}

  void walk(const Stmt& s) {
    if (!s) return;
    const void* outer = report_.enter(s.get());
    statement(s);
    report_.enter(outer);
  }

 private:
  static constexpr int64_t kMany = std::numeric_limits<int32_t>::max();
  // Nested loops that are walked twice; copies in deeper ones are not followed beyond their loop.
  static constexpr int kMostLoops = 6;

  struct Copy {
    int64_t commits = 0;  // since the copy, that of its own group included
    bool waited = false;
    std::vector<int> branches;  // around it
  };

  void statement(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor:
        return loop(as<ForNode>(s));
      case StmtKind::kSeq:
        for (const Stmt& part : as<SeqNode>(s).stmts) walk(part);
        return;
      case StmtKind::kStore: {
        const auto& node = as<StoreNode>(s);
        for (const PrimExpr& index : node.indices) reads(index);
        reads(node.value);
        return settle(node.buffer.get());
      }
      case StmtKind::kIf:
        reads(as<IfNode>(s).condition);
        branch(as<IfNode>(s).then_body);
        return branch(as<IfNode>(s).else_body);
      case StmtKind::kAlloc:
        return alloc(as<AllocNode>(s));
      case StmtKind::kBlock: {
        const auto& node = as<BlockNode>(s);
        for (const BlockIter& iter : node.iters) reads(iter.binding);
        branch(node.init);
        return node.predicate ? branch(node.body) : walk(node.body);
      }
      case StmtKind::kMatrix: {
        const auto& node = as<MatrixNode>(s);
        for (const PrimExpr& index : node.indices) reads(index);
        reads(node.leading);
        reads(node.value);
        if (node.op == MatrixOp::kLoad) read(node.memory.get());
        if (node.op == MatrixOp::kStore) settle(node.memory.get());
        return;
      }
      case StmtKind::kCopyAsync: {
        const auto& node = as<CopyAsyncNode>(s);
        for (const PrimExpr& begin : node.from.begins) reads(begin);
        for (const PrimExpr& begin : node.to.begins) reads(begin);
        const BufferNode* buffer = node.to.buffer.get();
        if (!settled_.contains(buffer)) copies_.try_emplace(buffer, Copy{0, false, branches_});
        return;
      }
      case StmtKind::kCommitCopies:
        return committed(1);
      case StmtKind::kWaitCopies:
        for (auto& [buffer, copy] : copies_) {
          copy.waited |= copy.commits > as<WaitCopiesNode>(s).outstanding;
        }
        return;
      case StmtKind::kBarrier:
        for (const auto& [buffer, copy] : copies_) {
          if (copy.waited) settled_.insert(buffer);
        }
        std::erase_if(copies_, [](const auto& entry) { return entry.second.waited; });
        return;
    }
  }

  void loop(const ForNode& node) {
    reads(node.extent);
    const bool constant = node.extent && node.extent.is_int();
    const bool of_threads = node.for_kind == ForKind::kThread ||
                            node.for_kind == ForKind::kParallel ||
                            node.for_kind == ForKind::kWorkgroup;
    const int64_t steps = of_threads ? 1 : constant ? node.extent->int_value : kMany;
    if (steps < 1) return;
    if (steps < 2) return walk(node.body);
    if (depth_ == kMostLoops) {
      walk(node.body);
      return settle_all();
    }
    ++depth_;
    walk(node.body);
    const int64_t before = commits_;
    walk(node.body);
    --depth_;
    const int64_t each = commits_ - before;
    if (steps == 2 || each == 0) return;
    committed(std::min(each, kMany) * std::min(steps - 2, kMany));
  }

  void settle_all() {
    for (const auto& [buffer, copy] : copies_) settled_.insert(buffer);
    copies_.clear();
  }

  void committed(int64_t count) {
    count = std::min(count, kMany);
    commits_ += count;
    for (auto& [buffer, copy] : copies_) copy.commits += count;
  }

  void branch(const Stmt& body) {
    if (!body) return;
    branches_.push_back(++last_branch_);
    walk(body);
    branches_.pop_back();
  }

  void alloc(const AllocNode& node) {
    const BufferNode* buffer = node.buffer.get();
    copies_.erase(buffer);
    settled_.erase(buffer);
    walk(node.body);
    auto copy = copies_.find(buffer);
    if (copy != copies_.end() && !copy->second.waited) {
      add("the memory of '" + buffer->name +
          "' ends before a wait for the copies to it; wait_copies(0) waits for all");
    }
    copies_.erase(buffer);
    settled_.erase(buffer);
  }

  // The buffer has a value, at least in parts.
  void settle(const BufferNode* buffer) {
    copies_.erase(buffer);
    settled_.insert(buffer);
  }

  void reads(const PrimExpr& root) {
    if (!root) return;
    visit_expr(root, [&](const PrimExpr& e) {
      if (e.kind() == tapml::ExprKind::kLoad) read(load_buffer(e).get());
    });
  }

  void read(const BufferNode* buffer) {
    auto found = copies_.find(buffer);
    if (found == copies_.end()) return;
    const Copy& copy = found->second;
    // A branch may be taken in later iterations only.
    if (branches_.size() > copy.branches.size() ||
        !std::equal(branches_.begin(), branches_.end(), copy.branches.begin())) {
      return;
    }
    add("'" + buffer->name + "' is read after copy_async without " +
        (copy.waited         ? "a barrier after the wait"
         : copy.commits == 0 ? "a commit_copies, a wait and a barrier in between"
                             : "a wait that covers the copy and a barrier in between"));
    settle(buffer);
  }

  void add(const std::string& message) {
    if (added_.insert(message).second) report_.add("T18", message);
  }

  Report& report_;
  std::map<const BufferNode*, Copy> copies_;  // the first copy to each buffer, until it is complete
  std::set<const BufferNode*> settled_;       // buffers that have a value
  std::vector<int> branches_;
  int last_branch_ = 0;
  int64_t commits_ = 0;
  int depth_ = 0;
  std::set<std::string> added_;
};

}  // namespace

void verify_async(const Stmt& body, Report& report) {
  bool copies = false;
  visit(body, [&](const Stmt& s) { copies |= s->kind == StmtKind::kCopyAsync; });
  if (copies) AsyncWalk(report).walk(body);
}

}  // namespace tapml::analysis
