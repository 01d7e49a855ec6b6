#include "codegen/lower/narrow_index.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "codegen/lower/data.h"
#include "codegen/lower/index_bounds.h"
#include "ir/exceptions.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// How an expression is used.
enum class Role : uint8_t {
  kExtent,  // 32 bits; otherwise the launch cannot be narrowed
  kIndex,   // 32 bits, with a check by the launcher if necessary
  kValue,   // 32 bits if they provably suffice
};

// Internal exception: this expression does not fit.
struct TooWide {
  PrimExpr expr;
  PrimExpr most;  // null if unknown
};

// Computes the range of every node of an expression, because a result may fit when an inner product
// does not. A bound that cannot be proved becomes a limit of the launch if the host knows its
// operands; otherwise the expression is too wide.
class Narrower {
 public:
  Narrower(const DeviceFunc& launch, bool wide)
      : launch_(launch),
        wide_(wide),
        least_(launch.least),
        bounds_(launch.scalars, least_, kMost32) {}

  DeviceFunc run() {
    DeviceFunc result = launch_;
    result.index = DType::kI32;
    for (Var& scalar : result.scalars) scalar = vars_[scalar.get()] = renamed(scalar);
    // Start with the tensors, whose bounds on the scalars settle most of the rest.
    for (const Param& param : launch_.buffers) dims_of(*param.buffer);
    for (const Param& param : launch_.buffers) size_of(*param.buffer);
    for (Param& param : result.buffers) param.buffer = narrow_buffer(param.buffer);
    fits(launch_.extent, Role::kExtent, false);  // computed by the host
    result.item = bind_loop(launch_.item, launch_.extent);
    result.body = stmt(launch_.body);
    settle_limits();
    result.limits = std::move(limits_);
    return result;
  }

 private:
  static Var renamed(const Var& var) { return make_var(var->name, DType::kI32); }

  // ---- what must fit

  bool proven(const PrimExpr& value) { return bounds_.analyzer().prove_less_equal(value, kMost32); }

  // Records value <= kMost32 as a limit and assumes it from here on.
  void check(const PrimExpr& value, const std::string& what) {
    limits_.push_back({value, kMost32, what});
    bounds_.analyzer().assume(le(value, kMost32));
  }

  // Keeps the scalars, which everything assumes to fit, and those limits that do not follow from
  // others. No limit follows from earlier ones (check() assumed them), so only later ones need to
  // be tested.
  void settle_limits() {
    std::vector<IndexLimit> all;
    for (auto scalar = launch_.scalars.rbegin(); scalar != launch_.scalars.rend(); ++scalar) {
      all.push_back({*scalar, kMost32, "scalar " + (*scalar)->name});
    }
    for (size_t i = 0; i < launch_.scalars.size(); ++i) {
      const Var& scalar = launch_.scalars[i];
      if (!least_[i]) all.push_back({-1 - scalar, kMost32, "-1 - scalar " + scalar->name});
    }
    std::move(limits_.begin(), limits_.end(), std::back_inserter(all));
    limits_.clear();
    arith::Analyzer after;
    for (size_t i = 0; i < launch_.scalars.size(); ++i) {
      after.bind(launch_.scalars[i], least_[i], std::nullopt);
    }
    for (auto limit = all.rbegin(); limit != all.rend(); ++limit) {
      if (after.prove_less_equal(limit->value, kMost32)) continue;
      after.assume(le(limit->value, kMost32));
      limits_.push_back({without_zero_divisors(limit->value), limit->most, limit->what});
    }
    std::reverse(limits_.begin(), limits_.end());
  }

  // The launcher evaluates the value for any scalars.
  static PrimExpr without_zero_divisors(const PrimExpr& value) {
    return rewrite_expr(value, [](const PrimExpr& e) -> PrimExpr {
      bool divides = e.kind() == ExprKind::kFloorDiv || e.kind() == ExprKind::kFloorMod;
      if (!divides || e.operand(1).is_int()) return {};
      const PrimExpr& divisor = e.operand(1);
      return make_binary(e.kind(), e.operand(0), select(eq(divisor, 0), 1, divisor));
    });
  }

  // Whether the value of `e` fits. `data`: it comes from a buffer, so only a proof counts.
  bool fits(const PrimExpr& e, Role role, bool data) {
    IndexRange range = bounds_.range(e);
    if (!range.known()) return refuse(e, {}, role);
    // The minimum, negated to be an upper bound.
    PrimExpr below = bounds_.analyzer().simplify(PrimExpr(-1) - range.lo);
    if (proven(range.hi) && proven(below)) return true;
    auto never = [&](const PrimExpr& value) {
      auto least = bounds_.analyzer().lower_bound(value);
      return least && *least > kMost32;
    };
    if (data || never(range.hi) || never(below)) return refuse(e, range.hi, role);
    if (role == Role::kValue && wide_) return false;
    std::string what = "index " + to_string(e);
    if (!proven(range.hi)) check(range.hi, what);
    if (!proven(below)) check(below, what);
    return true;
  }

  bool refuse(const PrimExpr& e, const PrimExpr& most, Role role) {
    if (role == Role::kExtent || !wide_) throw TooWide{e, most};
    return false;
  }

  // A tensor's dimension is never negative, whatever its expression could be.
  void dims_of(const BufferNode& buffer) {
    for (const PrimExpr& dim : buffer.shape) {
      if (!dim.is_int() && !dim.is_var()) bounds_.analyzer().assume(le(0, dim));
    }
  }

  void size_of(const BufferNode& buffer) {
    PrimExpr size = 1;
    for (const PrimExpr& dim : buffer.shape) size = size * dim;
    IndexRange range = bounds_.range(size);
    if (!range.known()) throw TooWide{size, {}};
    auto least = bounds_.analyzer().lower_bound(range.hi);
    if (least && *least > kMost32) throw TooWide{size, range.hi};
    if (!proven(range.hi)) check(range.hi, "number of elements of " + buffer.name);
  }

  Buffer narrow_buffer(const Buffer& buffer) {
    auto known = buffers_.find(buffer.get());
    if (known != buffers_.end()) return known->second;
    Dims shape, strides;
    for (const PrimExpr& dim : buffer->shape) shape.push_back(index(dim, Role::kExtent));
    for (const PrimExpr& dim : buffer->strides) strides.push_back(index(dim, Role::kExtent));
    return buffers_[buffer.get()] = make_buffer(buffer->name, buffer->dtype, std::move(shape),
                                                buffer->scope, std::move(strides));
  }

  // ---- statements

  Var bind_var(const Var& var, IndexRange range) {
    bounds_.bind(var, std::move(range));
    return vars_[var.get()] = renamed(var);
  }

  Var bind_loop(const Var& var, const PrimExpr& extent) {
    IndexRange range = bounds_.range(extent);
    return bind_var(var, {0, bounds_.analyzer().simplify(range.hi - 1)});
  }

  // Data may request more steps than 32 bits can count: no loop has that many, since its accesses
  // are within buffers.
  PrimExpr clamped_extent(const PrimExpr& extent) {
    PrimExpr value = expr(extent, Role::kValue);
    if (value.dtype() == DType::kI64) value = max(min(value, kMost32), 0);
    return cast(DType::kI32, value);
  }

  Stmt stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto& node = as<ForNode>(s);
        if (wide_ && data(node.extent)) {
          PrimExpr extent = clamped_extent(node.extent);
          Var var = bind_var(node.var, {0, PrimExpr(kMost32 - 1)});
          data_vars_.insert(node.var.get());
          return make_for(var, extent, stmt(node.body), node.for_kind);
        }
        PrimExpr extent = index(node.extent, Role::kExtent);
        if (node.for_kind == ForKind::kThread) {
          // The step past the end is computed as well.
          PrimExpr end = node.extent + launch_.workgroup_threads;
          fits(end, Role::kExtent, false);
        }
        Var var = bind_loop(node.var, node.extent);
        return make_for(var, extent, stmt(node.body), node.for_kind);
      }
      case StmtKind::kSeq: {
        std::vector<Stmt> stmts;
        for (const Stmt& part : as<SeqNode>(s).stmts) stmts.push_back(stmt(part));
        return make_seq(std::move(stmts));
      }
      case StmtKind::kStore: {
        const auto& node = as<StoreNode>(s);
        std::vector<PrimExpr> indices = access(node.indices);
        PrimExpr value = widened(expr(node.value, Role::kValue), node.value.dtype());
        return make_store(narrow_buffer(node.buffer), std::move(indices), value);
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        PrimExpr condition = expr(node.condition, Role::kIndex);
        size_t before = bounds_.mark();
        bounds_.learn(node.condition, true);
        Stmt then_body = stmt(node.then_body), else_body;
        bounds_.reset(before);
        if (node.else_body) {
          bounds_.learn(node.condition, false);
          else_body = stmt(node.else_body);
          bounds_.reset(before);
        }
        return make_if(condition, then_body, else_body);
      }
      case StmtKind::kAlloc: {
        const auto& node = as<AllocNode>(s);
        return make_alloc(narrow_buffer(node.buffer), stmt(node.body));
      }
      default:
        return s;
    }
  }

  // ---- expressions

  bool data(const PrimExpr& e) {
    return is_data(e, [this](const PrimExpr& var) { return data_vars_.contains(var.get()); });
  }

  PrimExpr widened(const PrimExpr& e, DType dtype) {
    return dtype == DType::kI64 && e.dtype() == DType::kI32 ? cast(DType::kI64, e) : e;
  }

  // The expression in 32 bits.
  PrimExpr index(const PrimExpr& e, Role role) { return cast(DType::kI32, expr(e, role)); }

  std::vector<PrimExpr> access(const std::vector<PrimExpr>& indices) {
    std::vector<PrimExpr> result;
    // A wider index is within the buffer nonetheless.
    for (const PrimExpr& one : indices) result.push_back(index(one, Role::kIndex));
    return result;
  }

  // `e`, narrowed to i32 if it is an i64 and fits; otherwise its type is unchanged.
  PrimExpr expr(const PrimExpr& e, Role role) {
    switch (e.kind()) {
      case ExprKind::kInt:
        if (e.dtype() != DType::kI64 || !fits(e, role, false)) return e;
        return make_int(e->int_value, DType::kI32);
      case ExprKind::kFloat:
        return e;
      case ExprKind::kVar: {
        auto it = vars_.find(e.get());
        return it == vars_.end() ? e : it->second;
      }
      case ExprKind::kLoad:
        if (e.dtype() == DType::kI64 && !wide_) throw TooWide{e, {}};
        return tir::load(narrow_buffer(load_buffer(e)), access(e->operands));
      case ExprKind::kLet:
        return let_expr(e, role);
      case ExprKind::kSelect:
        return select_expr(e, role);
      default:
        break;
    }
    if (e.dtype() == DType::kI64) return wide_node(e, role);
    Role inner = is_comparison(e.kind()) && role != Role::kValue ? Role::kIndex : role;
    if (is_comparison(e.kind()) || e.kind() == ExprKind::kCast) return flat_node(e, inner);
    return marked(flat_node(e, role));
  }

  // A node whose operands must have the same type.
  PrimExpr flat_node(const PrimExpr& e, Role role) {
    if (auto call = as_subgroup_call(e)) {
      call->value = expr(call->value, Role::kValue);
      return subgroup_call(*call);
    }
    std::vector<PrimExpr> operands;
    bool wide = false;
    bool logical = e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr;
    size_t before = bounds_.mark();
    for (const PrimExpr& operand : e->operands) {
      operands.push_back(expr(operand, role_of(operand, role)));
      wide |= operands.back().dtype() == DType::kI64;
      // The second operand runs only if the first does not decide the result.
      if (logical) bounds_.learn(operand, e.kind() == ExprKind::kAnd);
    }
    if (logical) bounds_.reset(before);
    if (e.kind() == ExprKind::kCast) return cast(e.dtype(), operands[0]);
    bool is_call = e.kind() == ExprKind::kCall;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (wide || is_call) operands[i] = widened(operands[i], e.operand(i).dtype());
    }
    return make_node(e.kind(), e.dtype(), std::move(operands), e->name, e->object);
  }

  Role role_of(const PrimExpr& operand, Role role) {
    if (role == Role::kExtent) return role;
    return data(operand) ? Role::kValue : role;
  }

  // Arithmetic that was i32 before may wrap; a cast to its own type marks it (is_data).
  PrimExpr marked(const PrimExpr& e) {
    bool arithmetic = e.dtype() == DType::kI32 && is_binary(e.kind());
    if (!arithmetic || data(e)) return e;
    auto node = std::make_shared<ExprNode>(*e);
    node->operands[0] = make_node(ExprKind::kCast, DType::kI32, {e.operand(0)});
    return PrimExpr(std::move(node));
  }

  // An i64 cast, arithmetic operation or call.
  PrimExpr wide_node(const PrimExpr& e, Role role) {
    bool fit = fits(e, role, data(e));
    if (e.kind() == ExprKind::kCast) {
      PrimExpr operand = expr(e.operand(0), Role::kValue);
      return cast(fit ? DType::kI32 : DType::kI64, operand);
    }
    std::vector<PrimExpr> operands;
    for (const PrimExpr& operand : e->operands) {
      operands.push_back(expr(operand, role_of(operand, role)));
      fit &= operands.back().dtype() == DType::kI32;
    }
    bool narrow = fit && is_binary(e.kind());
    if (!narrow && !wide_) throw TooWide{e, {}};
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!narrow) operands[i] = widened(operands[i], e.operand(i).dtype());
    }
    return make_node(e.kind(), narrow ? DType::kI32 : DType::kI64, std::move(operands), e->name,
                     e->object);
  }

  PrimExpr select_expr(const PrimExpr& e, Role role) {
    bool wide_type = e.dtype() == DType::kI64;
    PrimExpr condition = expr(e.operand(0), Role::kIndex);
    size_t before = bounds_.mark();
    bounds_.learn(e.operand(0), true);
    PrimExpr a = expr(e.operand(1), role_of(e.operand(1), role));
    bounds_.reset(before);
    bounds_.learn(e.operand(0), false);
    PrimExpr b = expr(e.operand(2), role_of(e.operand(2), role));
    bounds_.reset(before);
    if (wide_type && a.dtype() != b.dtype()) {
      a = widened(a, DType::kI64);
      b = widened(b, DType::kI64);
    }
    return make_node(ExprKind::kSelect, a.dtype(), {condition, a, b});
  }

  PrimExpr let_expr(const PrimExpr& e, Role role) {
    const Var& var = e.operand(0);
    const PrimExpr& value = e.operand(1);
    bool is_data = data(value);
    if (is_data) data_vars_.insert(var.get());
    bounds_.bind(var, bounds_.range(value));
    PrimExpr narrowed = expr(value, is_data ? Role::kValue : Role::kIndex);
    Var fresh = make_var(var->name, narrowed.dtype());
    vars_[var.get()] = fresh;
    if (is_data) data_vars_.insert(fresh.get());
    return let(fresh, narrowed, expr(e.operand(2), role));
  }

  const DeviceFunc& launch_;
  bool wide_;
  std::vector<std::optional<int64_t>> least_;  // of the scalars
  IndexBounds bounds_;
  VarMap vars_;
  std::map<const BufferNode*, Buffer> buffers_;
  std::set<const ExprNode*> data_vars_;
  std::vector<IndexLimit> limits_;
};

}  // namespace

bool narrow_index(DeviceFunc& launch, bool wide, const std::string& where, bool must) {
  try {
    launch = Narrower(launch, wide).run();
    return true;
  } catch (const TooWide& found) {
    if (wide && !must) return false;
    PrimExpr data;
    visit_expr(found.expr, [&](const PrimExpr& e) {
      if (e.kind() == ExprKind::kLoad && e.dtype() == DType::kI64) data = e;
    });
    if (data && !wide) {
      throw_platform(PlatformFault::kLimit,
                     "tensor " + load_buffer(data)->name + " holds " + dtype_name(data.dtype()) +
                         "; the platform has no such integers",
                     where);
    }
    std::string most = found.most ? ", as large as " + to_string(found.most) : "";
    throw_platform(PlatformFault::kLimit,
                   "index " + to_string(found.expr) + " needs 64 bits" + most +
                       "; the platform has " + std::to_string(kMost32) + " as its largest",
                   where);
  }
}

}  // namespace tapml::codegen
