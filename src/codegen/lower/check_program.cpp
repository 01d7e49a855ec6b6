#include "codegen/lower/check_program.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "ir/intrinsics.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"
#include "tir/subgroup.h"
#include "tir/unrolled.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

class ProgramCheck {
 public:
  ProgramCheck(const target::Description& target, const std::string& where)
      : target_(target), where_(where) {}

  // `top`: a global allocation is a workspace, and a loop becomes a launch.
  void walk(const Stmt& s, bool top) {
    switch (s->kind) {
      case StmtKind::kSeq:
        for (const Stmt& part : as<SeqNode>(s).stmts) walk(part, top);
        return;
      case StmtKind::kAlloc: {
        const auto& node = as<AllocNode>(s);
        if (node.buffer->scope == Scope::kGlobal && !top) {
          refuse("buffer " + node.buffer->name + " of global scope is allocated inside a loop",
                 "an allocation around all loops, or one of scope local", node.buffer->name);
        }
        if (node.buffer->scope == Scope::kShared) {
          needs_groups("shared buffer " + node.buffer->name);
          add_bytes(*node.buffer, 1, target_.limits.max_local_memory, shared_bytes_);
        }
        if (node.buffer->scope == Scope::kFragment) {
          needs_matrix_units("fragment " + node.buffer->name);
        }
        if (node.buffer->scope == Scope::kLocal) {
          add_bytes(*node.buffer, copies_, target_.local_buffer_bytes, local_bytes_);
        }
        return walk(node.body, top);
      }
      case StmtKind::kFor: {
        const auto& node = as<ForNode>(s);
        if (node.for_kind == ForKind::kWorkgroup) {
          needs_groups("work-group loop over " + node.var->name);
          if (!top && s != in_group_) {
            refuse("the work-group loop over " + node.var->name + " is inside another loop",
                   "a work-group loop around all others, or directly inside such a loop",
                   node.var->name);
          }
        }
        in_group_ = node.for_kind == ForKind::kWorkgroup ? node.body : nullptr;
        if (node.for_kind == ForKind::kThread) threads(node);
        if (top) local_bytes_ = shared_bytes_ = 0;  // each nest is a launch
        const int64_t outer = copies_;
        if (node.for_kind == ForKind::kUnrolled && node.extent.is_int()) {
          copies_ *= std::clamp<int64_t>(node.extent->int_value, 1, kMostUnrolled);
          copies_ = std::min(copies_, kMostUnrolledTogether);
        }
        walk(node.body, false);
        copies_ = outer;
        return;
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        walk(node.then_body, false);
        if (node.else_body) walk(node.else_body, false);
        return;
      }
      case StmtKind::kBlock: {
        const auto& node = as<BlockNode>(s);
        if (node.init) walk(node.init, false);
        return walk(node.body, false);
      }
      case StmtKind::kBarrier:
        return needs_groups("a barrier");
      case StmtKind::kStore:
        if (joins_threads(s)) needs_groups("a subgroup operation");
        return;
      case StmtKind::kMatrix:
        return needs_matrix_units(matrix_op_name(as<MatrixNode>(s).op));
      case StmtKind::kCopyAsync:
        return needs_async_copies("copy_async to " + as<CopyAsyncNode>(s).to.buffer->name);
      case StmtKind::kCommitCopies:
        return needs_async_copies("commit_copies");
      case StmtKind::kWaitCopies:
        return needs_async_copies("wait_copies");
    }
  }

  // Calls that lower_math left have no polynomial, and the target is not known to support them.
  void functions(const Stmt& body) {
    if (!target_.computes || target_.accurate_math) return;
    visit(body, {}, [&](const PrimExpr& root) {
      visit_expr(root, [&](const PrimExpr& e) {
        if (e.kind() != tapml::ExprKind::kCall) return;
        const IntrinsicInfo* info = find_intrinsic(e->name);
        if ((info && !info->needs_math) || find_subgroup_op(e->name)) return;
        std::string found = e->name + " of " + dtype_name(e.dtype());
        refuse("the target has no function " + found,
               "a function that " + target_.platform + " has", found);
      });
    });
  }

 private:
  [[noreturn]] void refuse(const std::string& message, const std::string& expected,
                           const std::string& found, const std::string& hint = "") const {
    throw_user(message, where_, expected, found, hint);
  }

  void needs_groups(const std::string& what) const {
    if (target_.gpu_like || !target_.computes) return;
    refuse(what + ": the target has no work groups", "serial, parallel or vectorized loops", what);
  }

  void needs_matrix_units(const std::string& what) const {
    if (!target_.computes) return;
    refuse(what + ": the target's code has no matrix units",
           "products and sums of elements in loops", what,
           "run the program on a target with matrix units, or write the product as loops");
  }

  void needs_async_copies(const std::string& what) const {
    if (!target_.computes) return;
    refuse(what + ": the target's code has no asynchronous copies",
           "stores to the shared buffer, then a barrier", what,
           "replace copy_async by stores of loaded elements, and wait_copies by a barrier");
  }

  // Adds the size of the launch's buffers, once for each copy of the code around them.
  void add_bytes(const BufferNode& buffer, int64_t copies, int64_t most, int64_t& sum) const {
    if (most == 0) return;
    bool fits = true;
    int64_t bytes = copies * static_cast<int64_t>(dtype_bytes(buffer.dtype));
    const Dims padded = buffer.strides.empty() ? Dims() : Dims{buffer.shape[0], buffer.strides[0]};
    for (const PrimExpr& dim : padded.empty() ? buffer.shape : padded) {
      if (!dim.is_int()) return;
      fits &= !__builtin_mul_overflow(bytes, dim->int_value, &bytes);
    }
    fits = fits && !__builtin_add_overflow(sum, std::max<int64_t>(bytes, 0), &sum);
    if (fits && sum <= most) return;
    const std::string scope = scope_name(buffer.scope);
    refuse("the " + scope + " buffers up to " + buffer.name +
               " need more memory than the target has " + "for them",
           "at most " + std::to_string(most) + " bytes in all " + scope + " buffers of a launch",
           fits ? std::to_string(sum) + " bytes" : "more than 2^63 bytes",
           "a buffer of global scope, allocated around all loops, can be of any size");
  }

  void threads(const ForNode& node) const {
    int64_t most = target_.limits.max_workgroup_threads;
    if (!target_.gpu_like || most == 0 || !node.extent.is_int() || node.extent->int_value <= most) {
      return;
    }
    refuse("the thread loop over " + node.var->name + " is too long for a work group",
           "at most " + std::to_string(most) + " threads", to_string(node.extent));
  }

  const target::Description& target_;
  const std::string& where_;
  Stmt in_group_;                               // directly inside a work-group loop
  int64_t copies_ = 1;                          // of this code, made by unrolling loops around it
  int64_t local_bytes_ = 0, shared_bytes_ = 0;  // of the launch
};

}  // namespace

void check_program(const PrimFunc& func, const target::Description& target,
                   const std::string& where) {
  ProgramCheck check(target, where);
  check.walk(func.body, true);
  check.functions(func.body);
}

}  // namespace tapml::codegen
