#include <bit>
#include <unordered_map>

#include "base/hash.h"
#include "text/literals.h"
#include "text/normal_form.h"
#include "text/structural.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"

namespace tapml::text {

namespace {

using relax::Annotation;
using tir::as;

// Folds a program into one number, in the order in which Comparer walks it: variables and buffers
// hash as the number of their binding.
class Hasher {
 public:
  uint64_t value() const { return hash_; }

  void module(const Module& m) {
    attrs(m.all_attrs());
    for (const auto& [name, f] : m.functions) {
      text(name);
      function(*f);
    }
  }

  void function(const BaseFunction& f) {
    number(static_cast<uint64_t>(f.level));
    attrs(f.all_attrs());
    if (const auto* graph = relax::as_relax_function(&f)) {
      number(graph->pure);
      number(graph->params.size());
      for (const relax::Variable& param : graph->params) bound(*param, false);
      annotation(graph->result);
      expr(graph->body);
      return;
    }
    const tir::PrimFunc& prim = *tir::as_prim_func(&f);
    number(prim.scalars.size());
    for (const Var& var : prim.scalars) {
      number(static_cast<uint64_t>(var.dtype()));
      define(var.get());
    }
    number(prim.params.size());
    for (const tir::Param& param : prim.params) {
      number(static_cast<uint64_t>(param.mode));
      define_buffer(*param.buffer);
    }
    if (prim.requirements) requirements(*prim.requirements);
    stmts(prim.body);
  }

  void annotation(const Annotation& a) {
    if (!a) return number(99);
    number(static_cast<uint64_t>(a->kind));
    if (const auto* prim = relax::as_prim(a)) {
      number(static_cast<uint64_t>(prim->dtype));
      scalar(prim->value);
    } else if (const auto* shape = relax::as_shape(a)) {
      number(static_cast<uint64_t>(shape->ndim));
      number(shape->dims.has_value());
      if (shape->dims) scalars(*shape->dims);
    } else if (const auto* tensor = relax::as_tensor(a)) {
      number(static_cast<uint64_t>(tensor->ndim));
      number(tensor->dtype ? static_cast<uint64_t>(*tensor->dtype) : 99);
      number(tensor->shape.has_value());
      if (tensor->shape) scalars(*tensor->shape);
    } else if (const auto* tuple = relax::as_tuple(a)) {
      annotations(tuple->fields);
    } else if (const auto* callable = relax::as_callable(a)) {
      number(callable->pure);
      // The variables of its parameters are local to it, even if they also occur outside.
      std::vector<Var> own;
      for (const Annotation& param : callable->params) relax::collect_vars(param, own);
      std::vector<std::pair<const void*, uint64_t>> hidden;
      for (const Var& var : own) {
        auto it = numbers_.find(var.get());
        if (it == numbers_.end()) continue;
        hidden.emplace_back(it->first, it->second);
        numbers_.erase(it);
      }
      annotations(callable->params);
      annotation(callable->result);
      for (const Var& var : own) numbers_.erase(var.get());
      for (const auto& [node, known] : hidden) numbers_.emplace(node, known);
    }
  }

  void expr(const relax::Expr& e) {
    if (!e) return number(99);
    number(static_cast<uint64_t>(e->kind));
    switch (e->kind) {
      case relax::ExprKind::kVar:
        use(e.get());
        break;
      case relax::ExprKind::kConstant: {
        const HostTensor& t = relax::as<relax::ConstantNode>(e)->value;
        number(static_cast<uint64_t>(t.dtype()));
        number(t.shape().size());
        for (int64_t dim : t.shape()) number(static_cast<uint64_t>(dim));
        number(hash_bytes(t.bytes()));
        break;
      }
      case relax::ExprKind::kShape:
        scalars(relax::as<relax::ShapeNode>(e)->dims);
        break;
      case relax::ExprKind::kPrimValue:
        scalar(relax::as<relax::PrimValueNode>(e)->value);
        break;
      case relax::ExprKind::kTuple:
        exprs(relax::as<relax::TupleNode>(e)->fields);
        break;
      case relax::ExprKind::kTupleGetItem:
        number(static_cast<uint64_t>(relax::as<relax::TupleGetItemNode>(e)->index));
        expr(relax::as<relax::TupleGetItemNode>(e)->tuple);
        break;
      case relax::ExprKind::kOperator:
        text(relax::as<relax::OperatorNode>(e)->name);
        break;
      case relax::ExprKind::kGlobalVar:
        text(relax::as<relax::GlobalVarNode>(e)->name);
        break;
      case relax::ExprKind::kExternFunc:
        text(relax::as<relax::ExternFuncNode>(e)->name);
        break;
      case relax::ExprKind::kCall: {
        const auto* call = relax::as<relax::CallNode>(e);
        expr(call->callee);
        exprs(call->args);
        attrs(call->attrs);
        annotations(call->annotations);
        break;
      }
      case relax::ExprKind::kIf: {
        const auto* branch = relax::as<relax::IfNode>(e);
        expr(branch->condition);
        expr(branch->then_branch);
        expr(branch->else_branch);
        break;
      }
      case relax::ExprKind::kSeq:
        sequence(*relax::as<relax::SeqNode>(e));
        break;
      case relax::ExprKind::kFunction:
        function(*relax::as<relax::FunctionNode>(e)->function);
        break;
    }
  }

  void stmts(const tir::Stmt& stmt) {
    std::vector<tir::Stmt> list;
    flatten(stmt, list);
    number(list.size());
    for (const tir::Stmt& s : list) one_stmt(s);
  }

  void scalar(const PrimExpr& e) {
    if (!e) return number(99);
    number(static_cast<uint64_t>(e.kind()) << 8 | static_cast<uint64_t>(e.dtype()));
    number(e->operands.size());
    switch (e.kind()) {
      case ExprKind::kInt:
        return number(static_cast<uint64_t>(e->int_value));
      case ExprKind::kFloat:
        return number(std::bit_cast<uint64_t>(e->float_value));
      case ExprKind::kVar:
        return use(e.get());
      case ExprKind::kCall:
        text(e->name);
        break;
      case ExprKind::kLoad:
        use_buffer(static_cast<const tir::BufferNode&>(*e->object));
        break;
      case ExprKind::kLet:
        number(static_cast<uint64_t>(e.operand(0).dtype()));
        scalar(e.operand(1));
        define(e.operand(0).get());
        scalar(e.operand(2));
        return;
      default:
        break;
    }
    for (const PrimExpr& operand : e->operands) scalar(operand);
  }

 private:
  void number(uint64_t value) { hash_ = hash_combine(hash_, value); }
  void text(const std::string& value) { number(hash_string(value)); }
  void attrs(const AttrMap& map) { text(format_attrs(map)); }

  void define(const void* node) { numbers_[node] = numbers_count_++; }
  void use(const void* node) {
    auto [it, is_new] = numbers_.emplace(node, numbers_count_);
    if (is_new) ++numbers_count_;
    number(it->second);
  }
  void buffer_type(const tir::BufferNode& buffer) {
    number(static_cast<uint64_t>(buffer.dtype));
    number(static_cast<uint64_t>(buffer.scope));
    scalars(buffer.shape);
    // Kernels are named by their hash, so that of a compact buffer stays what it was without them.
    if (!buffer.strides.empty()) scalars(buffer.strides);
  }
  void define_buffer(const tir::BufferNode& buffer) {
    buffer_type(buffer);
    define(&buffer);
  }
  void use_buffer(const tir::BufferNode& buffer) {
    bool known = numbers_.contains(&buffer);
    use(&buffer);
    if (!known) buffer_type(buffer);
  }

  void requirements(const tir::Requirements& all) {
    number(all.workspace ? 1 : 0);
    if (all.workspace) scalar(all.workspace);
    number(all.in_place.size());
    for (const tir::Requirements::InPlace& pair : all.in_place) {
      number(static_cast<uint64_t>(pair.input));
      number(static_cast<uint64_t>(pair.output));
    }
    number(all.prepared ? 1 + all.prepared->sources.size() : 0);
    if (!all.prepared) return;
    for (int32_t source : all.prepared->sources) number(static_cast<uint64_t>(source));
    number(static_cast<uint64_t>(all.prepared->bytes));
    text(all.prepared->digest);
  }
  void scalars(const std::vector<PrimExpr>& list) {
    number(list.size());
    for (const PrimExpr& e : list) scalar(e);
  }
  void exprs(const std::vector<relax::Expr>& list) {
    number(list.size());
    for (const relax::Expr& e : list) expr(e);
  }
  void annotations(const std::vector<Annotation>& list) {
    number(list.size());
    for (const Annotation& a : list) annotation(a);
  }

  // Outside a dataflow block the variable's flag has no meaning.
  void bound(const relax::VarNode& var, bool in_dataflow) {
    number(in_dataflow && var.dataflow);
    annotation(var.annotation);
    define(&var);
  }

  void sequence(const relax::SeqNode& seq) {
    std::vector<BlockView> views = merged_blocks(seq);
    number(views.size());
    for (const BlockView& view : views) {
      number(view.dataflow);
      number(view.bindings.size());
      for (const relax::Binding* binding : view.bindings) {
        expr(binding->value);
        annotation(binding->match_cast);
        bound(*binding->var, view.dataflow);
      }
    }
    expr(seq.result);
  }

  void regions(const std::vector<tir::Region>& list) {
    number(list.size());
    for (const tir::Region& one : list) region(one);
  }

  void region(const tir::Region& one) {
    use_buffer(*one.buffer);
    scalars(one.begins);
    scalars(one.extents);
  }

  void matrix(const tir::MatrixNode& node) {
    number(static_cast<uint64_t>(node.op) << 8 | static_cast<uint64_t>(node.layout));
    number(static_cast<uint64_t>(node.width));
    use_buffer(*node.fragment);
    for (const tir::Buffer& buffer : {node.memory, node.left, node.right, node.accumulator}) {
      if (buffer) use_buffer(*buffer);
    }
    scalars(node.indices);
    scalar(node.leading);
    scalar(node.value);
  }

  void block(const tir::BlockNode& node) {
    text(node.name);
    number(node.iters.size());
    for (const tir::BlockIter& iter : node.iters) {
      number(static_cast<uint64_t>(iter.type) << 8 | static_cast<uint64_t>(iter.var.dtype()));
      scalar(iter.extent);
      scalar(iter.binding);
      define(iter.var.get());
    }
    scalar(node.predicate);
    regions(node.reads);
    regions(node.writes);
    number(node.init != nullptr);
    if (node.init) stmts(node.init);
    stmts(node.body);
  }

  void one_stmt(const tir::Stmt& s) {
    number(static_cast<uint64_t>(s->kind));
    switch (s->kind) {
      case tir::StmtKind::kFor: {
        const auto& node = as<tir::ForNode>(s);
        number(static_cast<uint64_t>(node.for_kind) << 8 | static_cast<uint64_t>(node.var.dtype()));
        scalar(node.extent);
        define(node.var.get());
        stmts(node.body);
        break;
      }
      case tir::StmtKind::kStore: {
        const auto& node = as<tir::StoreNode>(s);
        use_buffer(*node.buffer);
        scalars(node.indices);
        scalar(node.value);
        break;
      }
      case tir::StmtKind::kIf: {
        const auto& node = as<tir::IfNode>(s);
        scalar(node.condition);
        stmts(node.then_body);
        number(node.else_body != nullptr);
        stmts(node.else_body);
        break;
      }
      case tir::StmtKind::kAlloc: {
        const auto& node = as<tir::AllocNode>(s);
        define_buffer(*node.buffer);
        stmts(node.body);
        break;
      }
      case tir::StmtKind::kBlock:
        block(as<tir::BlockNode>(s));
        break;
      case tir::StmtKind::kMatrix:
        matrix(as<tir::MatrixNode>(s));
        break;
      case tir::StmtKind::kCopyAsync:
        region(as<tir::CopyAsyncNode>(s).to);
        region(as<tir::CopyAsyncNode>(s).from);
        break;
      case tir::StmtKind::kWaitCopies:
        number(static_cast<uint64_t>(as<tir::WaitCopiesNode>(s).outstanding));
        break;
      case tir::StmtKind::kCommitCopies:
      case tir::StmtKind::kBarrier:
      case tir::StmtKind::kSeq:
        break;
    }
  }

  uint64_t hash_ = 0x7461706d6c;
  uint64_t numbers_count_ = 0;
  std::unordered_map<const void*, uint64_t> numbers_;
};

template <class F>
uint64_t hashed(F&& f) {
  Hasher hasher;
  f(hasher);
  return hasher.value();
}

}  // namespace

uint64_t structural_hash(const Module& module) {
  return hashed([&](Hasher& h) { h.module(module); });
}
uint64_t structural_hash(const BaseFunction& function) {
  return hashed([&](Hasher& h) { h.function(function); });
}
uint64_t structural_hash(const relax::Expr& expr) {
  return hashed([&](Hasher& h) { h.expr(expr); });
}
uint64_t structural_hash(const tir::Stmt& stmt) {
  return hashed([&](Hasher& h) { h.stmts(stmt); });
}
uint64_t structural_hash(const PrimExpr& expr) {
  return hashed([&](Hasher& h) { h.scalar(expr); });
}

}  // namespace tapml::text
