#include "analysis/access_bounds.h"

#include <map>
#include <set>

#include "arith/analyzer.h"
#include "text/printer.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"
#include "tir/visit.h"

namespace tapml::analysis {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Maximum number of loops whose first and last iterations are tried together (2^6 cases).
constexpr size_t kCornerLoops = 6;

bool is_arithmetic(ExprKind kind) { return is_binary(kind) && kind <= ExprKind::kFloorMod; }

class BoundsCheck {
 public:
  explicit BoundsCheck(const PrimFunc& func) : func_(func) {
    std::set<const ExprNode*> scalars;
    for (const Var& scalar : func.scalars) scalars.insert(scalar.get());
    scalars_ = scalars;
    for (const Param& param : func.params) {
      if (param.mode == AccessMode::kIn || param.mode == AccessMode::kPrepared) {
        constant_.insert(param.buffer.get());
      }
    }
  }

  std::vector<UnprovedAccess> run() {
    arith::Analyzer facts;
    for (const Param& param : func_.params) {
      for (const PrimExpr& dim : param.buffer->shape) {
        if (dim.is_int()) continue;
        // Dimensions of tensors are not negative.
        if (dim.is_var()) {
          facts.bind(dim, 0, std::nullopt);
        } else {
          facts.assume(le(0, dim));
        }
      }
    }
    if (func_.body) stmt(func_.body, {facts, {}, {}, true});
    return std::move(found_);
  }

 private:
  struct Loop {
    Var var;
    PrimExpr extent;
  };
  // What holds at a statement or an expression.
  struct Context {
    arith::Analyzer facts;
    VarMap iterators;         // of blocks, with their bindings
    std::vector<Loop> loops;  // outermost first
    bool always = true;       // whether only loops enclose it
  };

  // Data that may be written in the meantime has no stable value.
  bool lasts(const PrimExpr& e, const std::set<const BufferNode*>& stored) const {
    bool good = true;
    visit_expr(e, [&](const PrimExpr& part) {
      if (part.kind() != ExprKind::kLoad) return;
      const BufferNode* buffer = load_buffer(part).get();
      good &= constant_.contains(buffer) ||
              (buffer->scope == tir::Scope::kLocal && !stored.contains(buffer));
    });
    return good;
  }

  static Context under(const Context& scope, const PrimExpr& condition) {
    Context inner = scope;
    inner.facts.assume(condition);
    inner.always = false;
    return inner;
  }

  PrimExpr own(const PrimExpr& e, const Context& scope) const {
    return scope.iterators.empty() ? e : substitute(e, scope.iterators);
  }

  static bool never(Context& scope, const PrimExpr& condition) {
    return scope.facts.prove(logical_not(condition));
  }

  // ---- statements

  void stmt(const Stmt& s, Context scope) {
    if (!s) return;
    const void* outer = std::exchange(statement_, s.get());
    statement(s, scope);
    statement_ = outer;
  }

  void statement(const Stmt& s, Context& scope) {
    switch (s->kind) {
      case StmtKind::kFor:
        return loop(as<ForNode>(s), scope);
      case StmtKind::kSeq:
        for (const Stmt& part : as<SeqNode>(s).stmts) stmt(part, scope);
        return;
      case StmtKind::kStore: {
        const auto& node = as<StoreNode>(s);
        expr(node.value, scope);
        for (const PrimExpr& index : node.indices) expr(index, scope);
        return access(node.buffer, node.indices, scope);
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        expr(node.condition, scope);
        const PrimExpr condition = own(node.condition, scope);
        branch(node.then_body, condition, scope);
        if (node.else_body) branch(node.else_body, logical_not(condition), scope);
        return;
      }
      case StmtKind::kAlloc:
        return stmt(as<AllocNode>(s).body, scope);
      case StmtKind::kBlock:
        return block(as<BlockNode>(s), scope);
      case StmtKind::kMatrix:
        return matrix(as<MatrixNode>(s), scope);
      case StmtKind::kCopyAsync:
        region(as<CopyAsyncNode>(s).from, scope);
        return region(as<CopyAsyncNode>(s).to, scope);
      case StmtKind::kBarrier:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        return;
    }
  }

  void region(const Region& box, Context& scope) {
    for (const PrimExpr& begin : box.begins) expr(begin, scope);
    access(box.buffer, box.begins, scope, box.extents);
  }

  void matrix(const MatrixNode& node, Context& scope) {
    if (node.op == MatrixOp::kFill) return expr(node.value, scope);
    if (!node.memory || node.memory->shape.empty()) return;
    for (const PrimExpr& index : node.indices) expr(index, scope);
    expr(node.leading, scope);
    // The rows or columns of the fragment, and the elements in each of them.
    PrimExpr lines = fragment_rows(*node.fragment), length = fragment_columns(*node.fragment);
    if (node.layout == MatrixLayout::kColumnMajor) std::swap(lines, length);
    const Buffer& memory = node.memory;
    const size_t last = memory->shape.size() - 1;
    const PrimExpr leading = own(node.leading, scope);
    // Where the lines follow a dimension, the fragment is a box.
    for (size_t d = last; d-- > 0;) {
      if (!stride_of(memory, last).is_int(1)) break;
      if (!scope.facts.prove_equal(stride_of(memory, d), leading)) continue;
      std::vector<PrimExpr> extents(memory->shape.size(), PrimExpr(1));
      extents[d] = lines;
      extents[last] = length;
      return access(memory, node.indices, scope, extents);
    }
    const PrimExpr first = linear_index(memory, node.indices);
    const PrimExpr extent = (lines - 1) * node.leading + length;
    one_dimension(memory, node.indices, 0, {first, extent, buffer_size(memory)}, scope);
  }

  void branch(const Stmt& body, const PrimExpr& condition, Context& scope) {
    if (never(scope, condition)) return;
    Context inner = scope;
    inner.always = false;
    if (lasts(condition, stored_buffers(body))) inner.facts.assume(condition);
    stmt(body, std::move(inner));
  }

  void loop(const ForNode& node, Context& scope) {
    expr(node.extent, scope);
    const PrimExpr extent = own(node.extent, scope);
    if (scope.facts.prove_less_equal(extent, make_int(0, extent.dtype()))) return;
    Context inner = scope;
    if (lasts(extent, stored_buffers(node.body))) {
      inner.facts.bind_range(node.var, extent);
      inner.facts.assume(le(make_int(1, extent.dtype()), extent));
      inner.loops.push_back({node.var, extent});
    } else {
      inner.facts.bind(node.var, 0, std::nullopt);
      inner.always = false;
    }
    stmt(node.body, std::move(inner));
  }

  void block(const BlockNode& node, Context& scope) {
    Context inner = scope;
    for (const BlockIter& iter : node.iters) {
      expr(iter.binding, scope);
      inner.iterators[iter.var.get()] = own(iter.binding, scope);
    }
    if (node.predicate) {
      expr(node.predicate, inner);
      const PrimExpr predicate = own(node.predicate, inner);
      if (never(inner, predicate)) return;
      inner = under(inner, predicate);
    }
    if (node.init) {
      Context first = inner;
      first.always = false;
      stmt(node.init, std::move(first));
    }
    stmt(node.body, std::move(inner));
  }

  // ---- expressions

  void expr(const PrimExpr& e, Context& scope) {
    switch (e.kind()) {
      case ExprKind::kLoad:
        for (const PrimExpr& index : e->operands) expr(index, scope);
        return access(load_buffer(e), e->operands, scope);
      case ExprKind::kLet: {
        expr(e.operand(1), scope);
        Context inner = scope;
        const PrimExpr value = own(e.operand(1), scope);
        if (is_integer(value.dtype())) {
          inner.facts.assume(eq(e.operand(0), value));
        } else if (value.dtype() == DType::kBool) {
          inner.iterators[e.operand(0).get()] = value;
        }
        return expr(e.operand(2), inner);
      }
      case ExprKind::kSelect:
        expr(e.operand(0), scope);
        side(e.operand(1), own(e.operand(0), scope), scope);
        return side(e.operand(2), logical_not(own(e.operand(0), scope)), scope);
      case ExprKind::kAnd:
        expr(e.operand(0), scope);
        return side(e.operand(1), own(e.operand(0), scope), scope);
      case ExprKind::kOr:
        expr(e.operand(0), scope);
        return side(e.operand(1), logical_not(own(e.operand(0), scope)), scope);
      default:
        for (const PrimExpr& operand : e->operands) expr(operand, scope);
    }
  }

  // Visits an operand that is evaluated only if the condition holds.
  void side(const PrimExpr& e, const PrimExpr& condition, Context& scope) {
    bool loads = false;
    visit_expr(e, [&](const PrimExpr& part) { loads |= part.kind() == ExprKind::kLoad; });
    if (!loads || never(scope, condition)) return;
    Context inner = under(scope, condition);
    expr(e, inner);
  }

  // ---- accesses

  // Elements `first` to `first` + `count` - 1 of a dimension.
  struct Elements {
    PrimExpr first, count, dimension;
  };

  // `extents` has the lengths of a box that begins at the indices; empty for one element.
  void access(const Buffer& buffer, const std::vector<PrimExpr>& indices, Context& scope,
              const std::vector<PrimExpr>& extents = {}) {
    for (size_t d = 0; d < indices.size() && d < buffer->shape.size(); ++d) {
      const Elements elements = {indices[d], extents.empty() ? PrimExpr(1) : extents[d],
                                 buffer->shape[d]};
      if (!one_dimension(buffer, indices, d, elements, scope)) return;
    }
  }

  // Returns whether the elements are proved to be inside.
  bool one_dimension(const Buffer& buffer, const std::vector<PrimExpr>& indices, size_t d,
                     const Elements& elements, Context& scope) {
    const PrimExpr first = wide(steady(own(elements.first, scope)));
    const PrimExpr last = first + (wide(own(elements.count, scope)) - 1);
    const PrimExpr& extent = elements.dimension;
    if (is_exact(first, scope) && scope.facts.prove_less_equal(0, first) &&
        scope.facts.prove_less(last, extent)) {
      return true;
    }
    UnprovedAccess one;
    one.statement = statement_;
    one.access = text_of(buffer, indices);
    one.dimension = d;
    one.last = text::print(scope.facts.simplify(extent - 1));
    one.outside = is_outside(last, extent, scope);
    if (one.outside) {
      one.index = outside_text_;
    } else {
      one.outside = is_outside(first, extent, scope);
      one.index = one.outside ? outside_text_ : range_text(last, scope);
    }
    found_.push_back(std::move(one));
    return false;
  }

  // Loads of memory that may be written have a new value each time.
  PrimExpr steady(const PrimExpr& e) const {
    return rewrite_expr(e, [&](const PrimExpr& part) {
      if (part.kind() != ExprKind::kLoad) return PrimExpr();
      const BufferNode* buffer = load_buffer(part).get();
      const bool good = constant_.contains(buffer) || buffer->scope == tir::Scope::kLocal;
      return good ? PrimExpr() : make_var("data", part.dtype());
    });
  }

  static PrimExpr wide(const PrimExpr& e) {
    return e.dtype() == DType::kI64 ? e : cast(DType::kI64, e);
  }

  // Whether its arithmetic matches the prover's assumptions: no overflow of narrow integers and no
  // division by 0 (which gives 0).
  bool is_exact(const PrimExpr& index, Context& scope) {
    bool exact = true;
    visit_expr(index, [&](const PrimExpr& part) {
      if (!exact || !is_integer(part.dtype()) || !is_arithmetic(part.kind())) return;
      if (part.kind() == ExprKind::kFloorDiv || part.kind() == ExprKind::kFloorMod) {
        const PrimExpr& divisor = part.operand(1);
        exact = divisor.is_int() ? divisor->int_value != 0
                                 : scope.facts.lower_bound(divisor).value_or(0) > 0;
      }
      if (dtype_bits(part.dtype()) >= 64) return;
      const arith::Interval range = scope.facts.bounds(part);
      const int bits = dtype_bits(part.dtype()) - (is_unsigned_integer(part.dtype()) ? 0 : 1);
      const int64_t most = (int64_t{1} << bits) - 1;
      const int64_t least = is_unsigned_integer(part.dtype()) ? 0 : -most - 1;
      exact &= range.lo && range.hi && *range.lo >= least && *range.hi <= most;
    });
    return exact;
  }

  bool is_outside(const PrimExpr& index, const PrimExpr& extent, Context& scope) {
    if (!is_exact(index, scope)) return false;
    const bool below = scope.facts.prove_less(index, 0);
    const bool above = scope.facts.prove_less_equal(extent, index);
    if (below != above) {  // both: this is unreachable
      outside_text_ = range_text(index, scope);
      return true;
    }
    return !below && scope.always && corner_outside(index, extent, scope);
  }

  // Loops whose extents depend on scalars alone reach all of their corners.
  bool corner_outside(const PrimExpr& index, const PrimExpr& extent, Context& scope) {
    std::vector<Loop> loops;
    for (const Var& var : free_vars(index)) {
      for (const Loop& loop : scope.loops) {
        if (loop.var.same_as(var)) loops.push_back(loop);
      }
    }
    for (const Loop& loop : scope.loops) {
      for (const Var& var : free_vars(loop.extent)) {
        if (!scalars_.contains(var.get())) return false;
      }
    }
    if (loops.empty() || loops.size() > kCornerLoops) return false;
    for (size_t corner = 0; corner < size_t{1} << loops.size(); ++corner) {
      VarMap values;
      std::string where;
      for (size_t i = 0; i < loops.size(); ++i) {
        const PrimExpr& last = loops[i].extent;
        const DType dtype = loops[i].var.dtype();
        values[loops[i].var.get()] =
            (corner >> i) % 2 == 0 ? make_int(0, dtype) : last - make_int(1, dtype);
        where += (i == 0 ? " where " : ", ") + loops[i].var->name + " is " +
                 text::print(scope.facts.simplify(values[loops[i].var.get()]));
      }
      const PrimExpr at = substitute(index, values);
      if (!scope.facts.prove_less(at, 0) && !scope.facts.prove_less_equal(extent, at)) continue;
      outside_text_ = text::print(scope.facts.simplify(at)) + where;
      return true;
    }
    return false;
  }

  static std::string range_text(const PrimExpr& index, Context& scope) {
    const arith::Interval range = scope.facts.bounds(index);
    if (range.lo && range.hi) {
      return *range.lo == *range.hi
                 ? std::to_string(*range.lo)
                 : std::to_string(*range.lo) + " to " + std::to_string(*range.hi);
    }
    const std::string value = text::print(scope.facts.simplify(index));
    if (range.lo) return value + ", at least " + std::to_string(*range.lo);
    if (range.hi) return value + ", at most " + std::to_string(*range.hi);
    return value;
  }

  static std::string text_of(const Buffer& buffer, const std::vector<PrimExpr>& indices) {
    std::string text = buffer->name + "[";
    for (size_t i = 0; i < indices.size(); ++i) {
      text += (i > 0 ? ", " : "") + text::print(indices[i]);
    }
    return text + "]";
  }

  const PrimFunc& func_;
  std::set<const ExprNode*> scalars_;
  std::set<const BufferNode*> constant_;  // not written while the program runs
  const void* statement_ = nullptr;
  std::string outside_text_;
  std::vector<UnprovedAccess> found_;
};

}  // namespace

std::vector<UnprovedAccess> unproved_accesses(const PrimFunc& func) {
  return BoundsCheck(func).run();
}

}  // namespace tapml::analysis
