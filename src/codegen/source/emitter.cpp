#include "codegen/source/emitter.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "codegen/lower/data.h"
#include "codegen/lower/index_signs.h"
#include "codegen/source/code_text.h"
#include "codegen/source/operations.h"
#include "codegen/source/readable.h"
#include "codegen/source/subgroup.h"
#include "codegen/source/vector_access.h"
#include "codegen/source/vector_expr.h"
#include "ir/exceptions.h"
#include "ir/queries.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::codegen {

using namespace tir;  // NOLINT: this file is about tir alone

std::string Dialect::local_declaration(const std::string& name, DType dtype,
                                       int64_t elements) const {
  return type_name(dtype) + " " + name + "[" + std::to_string(elements) + "];";
}

std::string Dialect::multiply_add(const std::string& a, const std::string& b, const std::string& c,
                                  DType) const {
  return "(" + c + " + (" + a + " * " + b + "))";
}

namespace {

class FunctionEmitter : private CodeText {
 public:
  FunctionEmitter(const DeviceFunc& function, const Dialect& dialect, Readers readers)
      : function_(function),
        dialect_(dialect),
        readable_(readers == Readers::kPeople),
        operations_(
            dialect,
            [this](const std::string& text, DType dtype) { return temporary(text, dtype); },
            readable_),
        subgroups_(function, dialect, operations_,
                   [this](const std::string& hint) { return unique(hint); }),
        signs_(function) {}

  std::string run() {
    KernelNames names;
    vectors_ = vector_buffers(function_, dialect_.has_narrow_vectors());
    for (const Param& param : function_.buffers) {
      const auto lanes = vectors_.find(param.buffer.get());
      names.vectors.push_back(lanes == vectors_.end() ? 0 : lanes->second);
      names.buffers.push_back(unique(param.buffer->name));
      names_[param.buffer.get()] = names.buffers.back();
    }
    for (const Var& scalar : function_.scalars) {
      names.scalars.push_back(unique(scalar->name));
      vars_[scalar.get()] = names.scalars.back();
    }
    names.item = unique(function_.item->name);
    vars_[function_.item.get()] = group_ = names.item;
    visit(function_.body, [&](const Stmt& s) {
      if (s->kind != StmtKind::kAlloc) return;
      const Buffer& buffer = as<AllocNode>(s).buffer;
      if (buffer->scope != Scope::kShared) return;
      const std::string& name = names_[buffer.get()] = unique(buffer->name);
      if (const auto elements = constant_size(buffer)) {
        names.shared.push_back(dialect_.shared_declaration(name, buffer->dtype, *elements));
      } else {
        names.sized_shared.push_back(
            dialect_.sized_shared(name, buffer->dtype, names.sized_shared.size()));
      }
    });
    const std::vector<std::string>& exchanges = subgroups_.declarations();
    names.shared.insert(names.shared.end(), exchanges.begin(), exchanges.end());
    for (const auto& [var, value] : function_.coordinates) {
      const std::string text = expr(value);
      vars_[var.get()] = unique(var->name);
      line(definition(dialect_.type_name(var.dtype()), vars_[var.get()], text));
    }
    shares_ = !names.shared.empty() || !names.sized_shared.empty();
    stmt(function_.body);
    // A group processes several items: none may write shared memory that another still reads.
    if (shares_) line(dialect_.barrier());
    std::string body = take();
    return dialect_.begin_kernel(function_, names) + body + dialect_.end_kernel();
  }

 private:
  std::string definition(const std::string& type, const std::string& name,
                         const std::string& value) const override {
    return dialect_.definition(type, name, value);
  }

  static int64_t local_size(const Buffer& buffer) {
    const std::optional<int64_t> elements = constant_size(buffer);
    if (!elements) throw_internal("local buffer of symbolic size", buffer->name);
    return *elements;
  }

  // ---- statements

  void stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor:
        return loop(as<ForNode>(s));
      case StmtKind::kSeq:
        for (const Stmt& part : as<SeqNode>(s).stmts) stmt(part);
        return;
      case StmtKind::kStore: {
        const auto& node = as<StoreNode>(s);
        if (as_subgroup_call(node.value)) return subgroup(node);
        std::string value = expr(node.value);
        std::string index = place(node.buffer, node.indices);
        if (node.buffer->scope == Scope::kGlobal) {
          bool ordered = loop_depth_ > 0 && depends_on_data(node.indices);
          line(ordered ? dialect_.ordered_store(name(node.buffer), index, node.buffer->dtype, value)
                       : dialect_.store(name(node.buffer), index, node.buffer->dtype, value));
        } else if (vectorized_ && is_accumulation(node)) {
          line(dialect_.free_order(element(node.buffer, index) + " = " + value + ";"));
        } else {
          line(element(node.buffer, index) + " = " + value + ";");
        }
        return;
      }
      case StmtKind::kIf: {
        const auto& node = as<IfNode>(s);
        block("if (" + on_which_depends(node.condition, s) + ")", [&] { stmt(node.then_body); });
        if (node.else_body) block("else", [&] { stmt(node.else_body); });
        return;
      }
      case StmtKind::kAlloc: {
        const Buffer& buffer = as<AllocNode>(s).buffer;
        if (buffer->scope == Scope::kLocal) {
          const std::string& name = names_[buffer.get()] = unique(buffer->name);
          if (is_variable(buffer)) {
            declare(dialect_.variable(dialect_.type_name(buffer->dtype), name), name);
          } else {
            line(dialect_.local_declaration(name, buffer->dtype, local_size(buffer)));
          }
        }
        stmt(as<AllocNode>(s).body);
        return;
      }
      case StmtKind::kBarrier:
        return line(dialect_.barrier());
      case StmtKind::kBlock:
        throw_internal("a block reached code generation", function_.entry);
      case StmtKind::kMatrix:
      case StmtKind::kCopyAsync:
      case StmtKind::kCommitCopies:
      case StmtKind::kWaitCopies:
        throw_internal("a matrix operation or an asynchronous copy reached code generation",
                       function_.entry);
    }
  }

  void loop(const ForNode& node) {
    if (node.for_kind == ForKind::kUnrolled && node.extent.is_int()) {
      for (int64_t i = 0; i < node.extent->int_value; ++i) {
        vars_[node.var.get()] = dialect_.int_literal(i, node.var.dtype());
        stmt(node.body);
      }
      return;
    }
    if (is_vector_loop(node) && !vectors_.empty()) return lanes(node);
    std::string type = dialect_.type_name(node.var.dtype());
    std::string var = unique(node.var->name);
    std::string extent = on_which_depends(node.extent, node.body);
    vars_[node.var.get()] = var;
    if (node.for_kind == ForKind::kWorkgroup) return groups(node, var, extent);
    if (node.for_kind == ForKind::kThread && node.extent.is_int(function_.workgroup_threads)) {
      // One iteration a thread; no loop, so that barriers inside are in uniform control flow.
      return block("", [&] {
        const std::string index =
            dialect_.thread_in_turn(dialect_.thread_index(subgroups_.width()), group_);
        line(definition(type, var, index));
        thread_ = node.var;
        stmt(node.body);
        thread_ = Var();
      });
    }
    if (node.for_kind == ForKind::kThread) {
      return block(
          dialect_.counting(type, var, dialect_.thread_index(0), extent,
                            dialect_.int_literal(function_.workgroup_threads, node.var.dtype())),
          [&] { stmt(node.body); });
    }
    ++loop_depth_;
    const bool outer = std::exchange(vectorized_, node.for_kind == ForKind::kVectorized);
    block(dialect_.counting(type, var, "0", extent, ""), [&] {
      if (thread_ && has_joint(node.body)) {
        turn(node.body, var);
      } else {
        stmt(node.body);
      }
    });
    vectorized_ = outer;
    --loop_depth_;
  }

  // The extent or the condition of a statement in which there may be barriers.
  std::string on_which_depends(const PrimExpr& e, const Stmt& inside) {
    std::string text = expr(e);
    bool has_barrier = false;
    visit(inside,
          [&](const Stmt& s) { has_barrier |= s->kind == StmtKind::kBarrier || joins_threads(s); });
    if (!has_barrier || !is_data(e)) return text;
    const std::string uniform = dialect_.uniform(text, e.dtype());
    return uniform == text ? text : named(uniform, dialect_.type_name(e.dtype()));
  }

  // The second or third dimension of the grid.
  void groups(const ForNode& node, const std::string& var, const std::string& extent) {
    const LoopText text = dialect_.group_loop(var, extent, ++dimension_, node.var.dtype());
    block(text.head, [&] {
      if (!text.first.empty()) line(text.first);
      const std::string outer = std::exchange(group_, var);
      stmt(node.body);
      group_ = outer;
      if (shares_) line(dialect_.barrier());
    });
  }

  void subgroup(const StoreNode& node) {
    if (!thread_ || node.buffer->scope == Scope::kGlobal) {
      throw_user("a subgroup operation is stored to a global buffer or outside a loop over threads",
                 function_.entry,
                 "a store to local memory below a loop over all threads of the group",
                 "a store to " + node.buffer->name);
    }
    const PrimExpr operand = as_subgroup_call(node.value)->value;
    const std::string value = temporary(expr(operand), operand.dtype());
    const std::string target = name(node.buffer) + "[" + place(node.buffer, node.indices) + "]";
    for (const std::string& text : subgroups_.lines(node, value, target, vars_.at(thread_.get()))) {
      line(text);
    }
  }

  // Four lanes around one store: adjacent elements are loaded before the first lane and stored
  // after the last, as a single vector expression if possible.
  void lanes(const ForNode& node) {
    const auto& store = as<StoreNode>(node.body);
    visit_expr(store.value, [&](const PrimExpr& e) {
      if (e.kind() != ExprKind::kLoad || !vectors_.contains(load_buffer(e).get())) return;
      if (loaded_.contains(e.get())) return;
      const Buffer buffer = load_buffer(e);
      const std::string type = dialect_.vector_type(buffer->dtype);
      const std::string value = unique(buffer->name + "_lanes");
      const bool is_half = vectors_.at(buffer.get()) != kVectorLanes;
      const std::string text =
          is_half ? half_of_lanes(buffer, e->operands, node.var)
                  : dialect_.load_vector(
                        name(buffer), place_of_lanes(buffer, e->operands, node.var), buffer->dtype);
      line(definition(type, value, text));
      loaded_[e.get()] = value;
    });
    const bool whole = vectors_.contains(store.buffer.get());
    if (!whole) {
      each_lane(node.var, [&] { stmt(node.body); });
    } else if (dtype_bytes(store.buffer->dtype) < 4) {
      store_lanes(node, narrow_lanes(node));
    } else if (dialect_.vectors() == nullptr) {
      store_lanes(node, dialect_.make_vector(dialect_.vector_type(store.buffer->dtype),
                                             each_lane(node.var, store.value)));
    } else {
      store_lanes(node, vector(node, store.value));
    }
    loaded_.clear();
  }

  // The lanes of a loop as one expression.
  std::string vector(const ForNode& node, const PrimExpr& value) {
    const VectorLanes lanes = {node.var, loaded_, [this](const PrimExpr& e) { return expr(e); },
                               [this, &node](const PrimExpr& e) { return each_lane(node.var, e); },
                               [this](const std::string& text, DType dtype) {
                                 return named(text, dialect_.vector_type(dtype));
                               }};
    return vector_expr(value, lanes, dialect_);
  }

  // Four values for a buffer of 16-bit floats. The store rounds them, so the last rounding of an
  // f32 value is left to it; arithmetic in the narrow type is rounded after every step, by lane.
  std::string narrow_lanes(const ForNode& node) {
    const PrimExpr& value = as<StoreNode>(node.body).value;
    const bool is_rounded =
        value.kind() == ExprKind::kCast && value.operand(0).dtype() == DType::kF32;
    if (is_rounded && dialect_.vectors() != nullptr) return vector(node, value.operand(0));
    return dialect_.make_vector(dialect_.vector_type(DType::kF32), each_lane(node.var, value));
  }

  template <class F>
  void each_lane(const Var& lane, F&& body) {
    for (int64_t i = 0; i < kVectorLanes; ++i) {
      vars_[lane.get()] = dialect_.int_literal(i, lane.dtype());
      part_ = i;
      body();
    }
  }

  std::vector<std::string> each_lane(const Var& lane, const PrimExpr& e) {
    std::vector<std::string> parts;
    each_lane(lane, [&] { parts.push_back(expr(e)); });
    return parts;
  }

  void store_lanes(const ForNode& loop, const std::string& value) {
    const auto& store = as<StoreNode>(loop.body);
    line(dialect_.store_vector(name(store.buffer),
                               place_of_lanes(store.buffer, store.indices, loop.var),
                               store.buffer->dtype, value));
  }

  // Half of eight elements, which are loaded once for both halves in a scope.
  std::string half_of_lanes(const Buffer& buffer, const std::vector<PrimExpr>& indices,
                            const Var& lane) {
    const Half half = *half_of_eight(*first_of_lanes(linear_index(buffer, indices), lane));
    const std::string index = dialect_.shift(
        expr(half.first), dialect_.int_literal(3, function_.index), function_.index, false);
    const bool outer = std::exchange(names_indices_, true);
    const std::string eight = named(name(buffer) + "[" + index + "]", dialect_.eight_type());
    names_indices_ = outer;
    return dialect_.half_of_eight(eight, half.second, buffer->dtype);
  }

  std::string place_of_lanes(const Buffer& buffer, const std::vector<PrimExpr>& indices,
                             const Var& lane) {
    PrimExpr first = *first_of_lanes(linear_index(buffer, indices), lane);
    if (first.is_int()) first = make_int(first->int_value, function_.index);
    return dialect_.shift(expr(first), dialect_.int_literal(2, function_.index), function_.index,
                          false);
  }

  // buffer[i] = buffer[i] + ...: a sum that may be reordered in a vectorized loop.
  static bool is_accumulation(const StoreNode& node) {
    if (node.value.kind() != ExprKind::kAdd || !is_float(node.buffer->dtype)) return false;
    const auto& sides = node.value->operands;
    return std::any_of(sides.begin(), sides.end(), [&](const PrimExpr& side) {
      return side.kind() == ExprKind::kLoad && load_buffer(side) == node.buffer;
    });
  }

  // One iteration of a loop with barriers.
  void turn(const Stmt& body, const std::string& loop_var) {
    const std::string outer = vars_.at(thread_.get());
    const std::string index = dialect_.thread_in_turn(outer, loop_var);
    if (index == outer) return stmt(body);
    const std::string inner = unique(thread_->name);
    line(definition(dialect_.type_name(thread_.dtype()), inner, index));
    vars_[thread_.get()] = inner;
    stmt(body);
    vars_[thread_.get()] = outer;
  }

  // The flat index of an element; a scalar's has no index that determines the type.
  std::string place(const Buffer& buffer, const std::vector<PrimExpr>& indices) {
    PrimExpr index = linear_index(buffer, indices);
    return expr(index.is_int() ? make_int(index->int_value, function_.index) : index);
  }

  static bool depends_on_data(const std::vector<PrimExpr>& indices) {
    return std::ranges::any_of(indices, has_load);
  }

  const std::string& name(const Buffer& buffer) {
    auto it = names_.find(buffer.get());
    if (it == names_.end()) throw_internal("unknown buffer " + buffer->name, function_.entry);
    return it->second;
  }

  // Readable code has one local element as a variable.
  bool is_variable(const Buffer& buffer) const {
    return readable_ && buffer->scope == Scope::kLocal && local_size(buffer) == 1;
  }

  std::string element(const Buffer& buffer, const std::string& index) {
    return is_variable(buffer) ? name(buffer) : name(buffer) + "[" + index + "]";
  }

  // ---- expressions

  std::string expr(const PrimExpr& e) {
    switch (e.kind()) {
      case ExprKind::kInt:
        // C converts a small literal to the type of the other operand.
        if (readable_ && function_.index == DType::kI64 && e.dtype() == DType::kI64 &&
            e->int_value >= 0 && std::in_range<int32_t>(e->int_value)) {
          return std::to_string(e->int_value);
        }
        return dialect_.int_literal(e->int_value, e.dtype());
      case ExprKind::kFloat:
        return dialect_.float_literal(e->float_value, e.dtype());
      case ExprKind::kVar: {
        auto it = vars_.find(e.get());
        if (it == vars_.end()) throw_internal("unbound variable " + e->name, function_.entry);
        return it->second;
      }
      case ExprKind::kLet: {
        const PrimExpr& var = e.operand(0);
        std::string value = expr(e.operand(1));
        std::string temporary = unique(var->name);
        line(definition(dialect_.type_name(var.dtype()), temporary, value));
        vars_[var.get()] = temporary;
        if (is_data(e.operand(1))) data_vars_.insert(var.get());
        return expr(e.operand(2));
      }
      case ExprKind::kLoad: {
        Buffer buffer = load_buffer(e);
        if (auto it = loaded_.find(e.get()); it != loaded_.end()) {
          return it->second + "." + "xyzw"[part_];
        }
        std::string index = place(buffer, e->operands);
        return buffer->scope == Scope::kGlobal ? dialect_.load(name(buffer), index, buffer->dtype)
                                               : element(buffer, index);
      }
      case ExprKind::kCast: {
        const PrimExpr& from = e.operand(0);
        if (e.dtype() == DType::kF16 && dialect_.computes_f16()) {
          if (const auto sum = f16_operation(from)) {
            return dialect_.narrow_infix(expr(sum->a), sum->op, expr(sum->b), DType::kF16);
          }
        }
        return dialect_.convert(expr(from), from.dtype(), e.dtype());
      }
      case ExprKind::kNot:
        return "(!" + expr(e.operand(0)) + ")";
      case ExprKind::kSelect:
        return select(e);
      case ExprKind::kCall:
        return call(e);
      default:
        return binary(e);
    }
  }

  // A branch that needs its own statements (lets, temporaries) must run only if chosen, so the
  // whole selection becomes an if. Otherwise it is a conditional expression.
  std::string select(const PrimExpr& e) {
    std::string condition = expr(e.operand(0));
    Aside a = aside(e.operand(1)), b = aside(e.operand(2));
    const bool may_compute_both =
        !dialect_.computes_both() || (!reads_memory(e.operand(1)) && !reads_memory(e.operand(2)));
    if (a.statements.empty() && b.statements.empty() && may_compute_both) {
      return dialect_.conditional(condition, a.value, b.value);
    }
    std::string result = unique("chosen");
    line(dialect_.variable(dialect_.type_name(e.dtype()), result) + ";");
    auto assign = [&](const Aside& side) {
      append(side.statements);
      line(result + " = " + side.value + ";");
    };
    block("if (" + condition + ")", [&] { assign(a); });
    block("else", [&] { assign(b); });
    return result;
  }

  // Loads besides those of single elements in registers.
  static bool reads_memory(const PrimExpr& e) {
    bool found = false;
    visit_expr(e, [&](const PrimExpr& part) {
      if (part.kind() != ExprKind::kLoad) return;
      const Buffer buffer = load_buffer(part);
      found |= buffer->scope != Scope::kLocal || local_size(buffer) > 1;
    });
    return found;
  }

  // An expression and the statements that it needs, which are not written yet; each is emitted
  // once, however deep selections nest.
  struct Aside {
    std::string statements, value;
  };
  Aside aside(const PrimExpr& e) {
    Aside result;
    result.statements = CodeText::aside([&] { result.value = expr(e); });
    return result;
  }

  // Which operand of a sum is a product, for dtypes that may be contracted; otherwise -1.
  static int product_of_sum(const PrimExpr& e) {
    bool may = e.kind() == ExprKind::kAdd && (e.dtype() == DType::kF32 || e.dtype() == DType::kF64);
    for (int i = 1; may && i >= 0; --i) {
      if (e.operand(static_cast<size_t>(i)).kind() == ExprKind::kMul) return i;
    }
    return -1;
  }

  // An operand of arithmetic, hidden from compilers that mishandle a visible zero.
  std::string operand(const PrimExpr& arithmetic, size_t i) {
    const PrimExpr& e = arithmetic.operand(i);
    const std::string text = expr(e);
    return may_be_seen_zero(arithmetic, i) ? dialect_.hidden(text, e.dtype()) : text;
  }

  std::string binary(const PrimExpr& e) {
    if (int product = product_of_sum(e); product >= 0) {
      const PrimExpr& factors = e.operand(static_cast<size_t>(product));
      std::string x = operand(factors, 0), y = operand(factors, 1);
      return dialect_.multiply_add(x, y, operand(e, static_cast<size_t>(1 - product)), e.dtype());
    }
    std::string a = operand(e, 0);
    bool logical = e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr;
    std::string b;
    if (logical) {
      Aside second = aside(e.operand(1));
      if (!second.statements.empty()) {
        // Statements of the second condition must not run if the first decides the result.
        std::string result = unique("holds");
        line(dialect_.variable(dialect_.type_name(DType::kBool), result) + " = " + a + ";");
        block("if (" + std::string(e.kind() == ExprKind::kAnd ? "" : "!") + result + ")", [&] {
          append(second.statements);
          line(result + " = " + second.value + ";");
        });
        return result;
      }
      b = second.value;
    } else {
      b = operand(e, 1);
    }
    const bool index = is_index(e, e.operand(0).dtype());
    const bool outer = std::exchange(names_indices_, index && is_unread(e));
    std::string result = operations_.binary(e, a, b, index, index && signs_.divides_plainly(e));
    names_indices_ = outer;
    return result;
  }

  bool is_data(const PrimExpr& e) {
    return codegen::is_data(e,
                            [this](const PrimExpr& var) { return data_vars_.contains(var.get()); });
  }

  // Index arithmetic does not overflow.
  bool is_index(const PrimExpr& e, DType dtype) {
    return (dtype == DType::kI64 || dtype == function_.index) && !is_data(e);
  }

  // Whether the expression reads nothing that may change within a scope.
  static bool is_unread(const PrimExpr& e) {
    bool unread = true;
    visit_expr(e, [&](const PrimExpr& part) {
      unread &= part.kind() != ExprKind::kLoad && part.kind() != ExprKind::kCall;
    });
    return unread;
  }

  // Returns plain names and literals unchanged; binds anything else to a variable if possible.
  // Indices are reused: one that is already bound keeps its name.
  std::string temporary(const std::string& text, DType dtype) {
    return named(text, dialect_.type_name(dtype));
  }

  std::string named(const std::string& text, const std::string& type) {
    return CodeText::named(text, type, names_indices_);
  }

  std::string call(const PrimExpr& e) {
    if (e->name == "dot4") return expr(expanded_dot4(e));
    std::vector<std::string> args;
    const bool adds = e->name == "fma";
    for (size_t i = 0; i < e->operands.size(); ++i) {
      args.push_back(adds ? operand(e, i) : expr(e.operand(i)));
    }
    return operations_.call(e, args, is_index(e, e.dtype()));
  }

  const DeviceFunc& function_;
  const Dialect& dialect_;
  const bool readable_;
  const Operations operations_;
  const SubgroupEmitter subgroups_;
  const IndexSigns signs_;
  std::map<const ExprNode*, std::string> vars_;
  std::set<const ExprNode*> data_vars_;
  std::map<const BufferNode*, std::string> names_;
  bool names_indices_ = false;  // the value being named is an index
  int loop_depth_ = 0;
  std::map<const BufferNode*, int> vectors_;       // elements accessed at once
  std::map<const ExprNode*, std::string> loaded_;  // loaded vectors, by load, in a loop over lanes
  int64_t part_ = 0;                               // the lane
  bool vectorized_ = false;                        // the innermost loop may be vectorized
  std::string group_;    // the innermost variable that says which group it is
  int dimension_ = 0;    // of the grid
  bool shares_ = false;  // whether there are shared buffers
  Var thread_;           // of the loop over a group's threads that is being emitted
};

}  // namespace

std::string emit_functions(const std::vector<DeviceFunc>& functions, const Dialect& dialect,
                           Readers readers) {
  std::string text;
  std::set<std::string> entries;
  for (const DeviceFunc& function : functions) {
    text += "\n" + FunctionEmitter(function, dialect, readers).run();
    entries.insert(function.entry);
  }
  if (readers == Readers::kCompilers) return text;
  return with_short_signatures(
      without_needless_parentheses(with_plain_names(text, entries, dialect.keeps_words_of_glsl())));
}

std::string emit_source(const std::vector<DeviceFunc>& functions, const Dialect& dialect,
                        Readers readers) {
  const std::string text = emit_functions(functions, dialect, readers);
  return dialect.prelude(text) + text;
}

}  // namespace tapml::codegen
