#include "codegen/lower/check_program.h"

#include "ir/exceptions.h"
#include "ir/intrinsics.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

class ProgramCheck {
 public:
  ProgramCheck(const target::Description& target, const std::string& where)
      : target_(target), where_(where) {}

  // `top`: where a global allocation is a workspace and a loop makes a launch.
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
        if (node.buffer->scope == Scope::kShared)
          needs_groups("shared buffer " + node.buffer->name);
        return walk(node.body, top);
      }
      case StmtKind::kFor: {
        const auto& node = as<ForNode>(s);
        if (node.for_kind == ForKind::kWorkgroup) {
          needs_groups("work-group loop over " + node.var->name);
          if (!top) {
            refuse("the work-group loop over " + node.var->name + " stands inside another loop",
                   "a work-group loop around all others", node.var->name);
          }
        }
        if (node.for_kind == ForKind::kThread) threads(node);
        return walk(node.body, false);
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
    }
  }

  // What lower_math left has no polynomial, and the target is not known to have it.
  void functions(const Stmt& body) {
    if (target_.code == target::CodeKind::kNone || target_.accurate_math) return;
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
                           const std::string& found) const {
    throw_user(message, where_, expected, found);
  }

  void needs_groups(const std::string& what) const {
    if (target_.gpu_like || target_.code == target::CodeKind::kNone) return;
    refuse(what + ": the target has no work groups", "serial, parallel or vectorized loops", what);
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
};

}  // namespace

void check_program(const PrimFunc& func, const target::Description& target,
                   const std::string& where) {
  ProgramCheck check(target, where);
  check.walk(func.body, true);
  check.functions(func.body);
}

}  // namespace tapml::codegen
