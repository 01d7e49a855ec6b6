#include <bit>
#include <cstring>
#include <unordered_map>

#include "base/strings.h"
#include "relax/check_location.h"
#include "text/literals.h"
#include "text/normal_form.h"
#include "text/printer.h"
#include "text/structural.h"
#include "tir/async_copy.h"
#include "tir/matrix.h"

namespace tapml::text {

namespace {

using relax::Annotation;
using tir::as;

class Comparer {
 public:
  explicit Comparer(EqualOptions options) : options_(options) {}

  bool modules(const Module& a, const Module& b) {
    if (!attrs(a.all_attrs(), b.all_attrs())) return false;
    auto i = a.functions.begin(), j = b.functions.begin();
    for (; i != a.functions.end() || j != b.functions.end(); ++i, ++j) {
      if (i == a.functions.end() || j == b.functions.end() || i->first != j->first) {
        return differ(i == a.functions.end() ? "no more functions" : "function " + i->first,
                      j == b.functions.end() ? "no more functions" : "function " + j->first);
      }
      Step step(*this, "function " + i->first);
      if (!functions(*i->second, *j->second)) return false;
    }
    return true;
  }

  bool functions(const BaseFunction& a, const BaseFunction& b) {
    if (a.level != b.level) return differ("level", "another level");
    if (!attrs(a.all_attrs(), b.all_attrs())) return false;
    if (a.level == FunctionLevel::kRelax) {
      return relax_functions(*relax::as_relax_function(&a), *relax::as_relax_function(&b));
    }
    return prim_funcs(*tir::as_prim_func(&a), *tir::as_prim_func(&b));
  }

  bool annotations(const Annotation& a, const Annotation& b) {
    if (a == b && !a) return true;
    if (!a || !b || a->kind != b->kind) return differ(relax::to_string(a), relax::to_string(b));
    auto no = [&] { return differ(relax::to_string(a), relax::to_string(b)); };
    switch (a->kind) {
      case relax::AnnotationKind::kObject:
        return true;
      case relax::AnnotationKind::kPrim: {
        const auto *x = relax::as_prim(a), *y = relax::as_prim(b);
        if (x->dtype != y->dtype || !x->value != !y->value) return no();
        return !x->value || scalars(x->value, y->value);
      }
      case relax::AnnotationKind::kShape: {
        const auto *x = relax::as_shape(a), *y = relax::as_shape(b);
        if (x->dims.has_value() != y->dims.has_value() || x->ndim != y->ndim) return no();
        return !x->dims || (x->dims->size() == y->dims->size() ? lists(*x->dims, *y->dims) : no());
      }
      case relax::AnnotationKind::kTensor: {
        const auto *x = relax::as_tensor(a), *y = relax::as_tensor(b);
        if (x->shape.has_value() != y->shape.has_value() || x->ndim != y->ndim ||
            x->dtype != y->dtype) {
          return no();
        }
        return !x->shape || lists(*x->shape, *y->shape);
      }
      case relax::AnnotationKind::kTuple:
        return annotation_lists(relax::as_tuple(a)->fields, relax::as_tuple(b)->fields);
      case relax::AnnotationKind::kCallable: {
        const auto *x = relax::as_callable(a), *y = relax::as_callable(b);
        if (x->pure != y->pure) return no();
        // The variables of its parameters are local to it, even if they also occur outside.
        const auto own_a = hide(*x, to_b_), own_b = hide(*y, to_a_);
        const bool same =
            annotation_lists(x->params, y->params) && annotations(x->result, y->result);
        show(own_a, to_b_);
        show(own_b, to_a_);
        return same;
      }
    }
    return true;
  }

  bool exprs(const relax::Expr& a, const relax::Expr& b) {
    if (!a || !b)
      return !a && !b ? true : differ(a ? print(a) : "nothing", b ? print(b) : "nothing");
    if (a->kind != b->kind) return differ(print(a), print(b));
    auto no = [&] { return differ(print(a), print(b)); };
    switch (a->kind) {
      case relax::ExprKind::kVar:
        return use(a.get(), b.get()) || no();
      case relax::ExprKind::kConstant: {
        const HostTensor& x = relax::as<relax::ConstantNode>(a)->value;
        const HostTensor& y = relax::as<relax::ConstantNode>(b)->value;
        bool same = x.dtype() == y.dtype() && x.shape() == y.shape() &&
                    (x.byte_size() == 0 ||
                     std::memcmp(x.bytes().data(), y.bytes().data(), x.byte_size()) == 0);
        return same || no();
      }
      case relax::ExprKind::kShape:
        return lists(relax::as<relax::ShapeNode>(a)->dims, relax::as<relax::ShapeNode>(b)->dims);
      case relax::ExprKind::kPrimValue:
        return scalars(relax::as<relax::PrimValueNode>(a)->value,
                       relax::as<relax::PrimValueNode>(b)->value);
      case relax::ExprKind::kTuple:
        return expr_lists(relax::as<relax::TupleNode>(a)->fields,
                          relax::as<relax::TupleNode>(b)->fields, "field");
      case relax::ExprKind::kTupleGetItem: {
        const auto* x = relax::as<relax::TupleGetItemNode>(a);
        const auto* y = relax::as<relax::TupleGetItemNode>(b);
        return x->index == y->index ? exprs(x->tuple, y->tuple) : no();
      }
      case relax::ExprKind::kOperator:
        return relax::as<relax::OperatorNode>(a)->name == relax::as<relax::OperatorNode>(b)->name ||
               no();
      case relax::ExprKind::kGlobalVar:
        return relax::as<relax::GlobalVarNode>(a)->name ==
                   relax::as<relax::GlobalVarNode>(b)->name ||
               no();
      case relax::ExprKind::kExternFunc:
        return relax::as<relax::ExternFuncNode>(a)->name ==
                   relax::as<relax::ExternFuncNode>(b)->name ||
               no();
      case relax::ExprKind::kCall: {
        const auto* x = relax::as<relax::CallNode>(a);
        const auto* y = relax::as<relax::CallNode>(b);
        return exprs(x->callee, y->callee) && expr_lists(x->args, y->args, "argument") &&
               attrs(x->attrs, y->attrs) && annotation_lists(x->annotations, y->annotations);
      }
      case relax::ExprKind::kIf: {
        const auto* x = relax::as<relax::IfNode>(a);
        const auto* y = relax::as<relax::IfNode>(b);
        return exprs(x->condition, y->condition) && exprs(x->then_branch, y->then_branch) &&
               exprs(x->else_branch, y->else_branch);
      }
      case relax::ExprKind::kSeq:
        return sequences(*relax::as<relax::SeqNode>(a), *relax::as<relax::SeqNode>(b));
      case relax::ExprKind::kFunction:
        return functions(*relax::as<relax::FunctionNode>(a)->function,
                         *relax::as<relax::FunctionNode>(b)->function);
    }
    return true;
  }

  bool stmts(const tir::Stmt& a, const tir::Stmt& b) {
    std::vector<tir::Stmt> x, y;
    flatten(a, x);
    flatten(b, y);
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      Step step(*this, "statement ", i);
      if (!one_stmt(x[i], y[i])) return false;
    }
    return x.size() == y.size() || count("statements", x.size(), y.size());
  }

  bool scalars(const PrimExpr& a, const PrimExpr& b) {
    if (!a || !b) return !a && !b ? true : differ(to_text(a), to_text(b));
    auto no = [&] { return differ(to_text(a), to_text(b)); };
    if (a.kind() != b.kind() || a.dtype() != b.dtype() ||
        a->operands.size() != b->operands.size()) {
      return no();
    }
    switch (a.kind()) {
      case ExprKind::kInt:
        return a->int_value == b->int_value || no();
      case ExprKind::kFloat:
        return std::bit_cast<uint64_t>(a->float_value) == std::bit_cast<uint64_t>(b->float_value) ||
               no();
      case ExprKind::kVar:
        return use(a.get(), b.get()) || no();
      case ExprKind::kCall:
        if (a->name != b->name) return no();
        break;
      case ExprKind::kLoad:
        if (!use_buffer(tir::load_buffer(a), tir::load_buffer(b))) return no();
        break;
      case ExprKind::kLet:
        if (a.operand(0).dtype() != b.operand(0).dtype()) return no();
        if (!scalars(a.operand(1), b.operand(1))) return false;
        define(a.operand(0).get(), b.operand(0).get());
        return scalars(a.operand(2), b.operand(2));
      default:
        break;
    }
    return lists(a->operands, b->operands);
  }

 private:
  // One part of the path to the current position of the comparison.
  struct Step {
    Step(Comparer& comparer, std::string part) : path(comparer.path_) {
      path.push_back(std::move(part));
    }
    Step(Comparer& comparer, const char* label, size_t index)
        : Step(comparer, label + std::to_string(index)) {}
    ~Step() { path.pop_back(); }
    std::vector<std::string>& path;
  };

  bool differ(const std::string& a, const std::string& b) {
    if (options_.difference && !reported_) {
      const std::string text = join(path_, " > ");
      *options_.difference = text + (text.empty() ? "" : ": ") + a + " and " + b;
    }
    reported_ = true;
    return false;
  }
  bool count(const char* what, size_t a, size_t b) {
    return differ(std::to_string(a) + " " + what, std::to_string(b) + " " + what);
  }
  static std::string to_text(const PrimExpr& expr) { return expr ? print(expr) : "nothing"; }

  void define(const void* a, const void* b) {
    to_b_[a] = b;
    to_a_[b] = a;
  }
  bool use(const void* a, const void* b) {
    auto i = to_b_.find(a);
    auto j = to_a_.find(b);
    if (i == to_b_.end() && j == to_a_.end()) {
      define(a, b);
      return true;
    }
    return i != to_b_.end() && j != to_a_.end() && i->second == b && j->second == a;
  }

  using Matches = std::unordered_map<const void*, const void*>;
  using Hidden = std::vector<std::pair<const void*, const void*>>;

  // Removes the matches of the Callable's own variables; null if there is none yet.
  static Hidden hide(const relax::CallableAnnotation& callable, Matches& matches) {
    std::vector<Var> own;
    for (const Annotation& param : callable.params) relax::collect_vars(param, own);
    Hidden hidden;
    for (const Var& var : own) {
      auto it = matches.find(var.get());
      hidden.emplace_back(var.get(), it == matches.end() ? nullptr : it->second);
      if (it != matches.end()) matches.erase(it);
    }
    return hidden;
  }
  static void show(const Hidden& hidden, Matches& matches) {
    for (const auto& [own, match] : hidden) matches.erase(own);
    for (const auto& [own, match] : hidden) {
      if (match) matches.emplace(own, match);
    }
  }

  bool attrs(const AttrMap& a, const AttrMap& b) {
    if (a.empty() && b.empty()) return true;
    // Their text keeps kinds and bits apart.
    if (format_attrs(a) == format_attrs(b)) return true;
    Step step(*this, "attributes");
    return differ(format_attrs(a), format_attrs(b));
  }

  bool lists(const std::vector<PrimExpr>& a, const std::vector<PrimExpr>& b) {
    if (a.size() != b.size()) return count("expressions", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (!scalars(a[i], b[i])) return false;
    }
    return true;
  }

  bool annotation_lists(const std::vector<Annotation>& a, const std::vector<Annotation>& b) {
    if (a.size() != b.size()) return count("annotations", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      Step step(*this, "annotation ", i);
      if (!annotations(a[i], b[i])) return false;
    }
    return true;
  }

  bool expr_lists(const std::vector<relax::Expr>& a, const std::vector<relax::Expr>& b,
                  const char* what) {
    if (a.size() != b.size()) return count((std::string(what) + "s").c_str(), a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      Step step(*this, (std::string(what) + " ").c_str(), i);
      if (!exprs(a[i], b[i])) return false;
    }
    return true;
  }

  // Outside a dataflow block the variables' flag has no meaning.
  bool bound_variables(const relax::VarNode& a, const relax::VarNode& b, bool in_dataflow) {
    if (in_dataflow && a.dataflow != b.dataflow) {
      return differ(a.dataflow ? "a dataflow variable" : "a visible variable",
                    b.dataflow ? "a dataflow variable" : "a visible variable");
    }
    if (!annotations(a.annotation, b.annotation)) return false;
    define(&a, &b);
    return true;
  }

  bool bindings(const relax::Binding& a, const relax::Binding& b, bool in_dataflow) {
    // A match_cast binds the symbolic variables that its own variable's annotation uses.
    if (!exprs(a.value, b.value) || !annotations(a.match_cast, b.match_cast)) return false;
    if (options_.origins && a.origin != b.origin) {
      const auto text = [](const Origin& origin) {
        return "origin " + layers_summary(origin) + ", lines " + lines_summary(origin);
      };
      return differ(text(a.origin), text(b.origin));
    }
    if (options_.origins && a.check != b.check) {
      return differ("check " + relax::binding_location(a), "check " + relax::binding_location(b));
    }
    return bound_variables(*a.var, *b.var, in_dataflow);
  }

  bool sequences(const relax::SeqNode& a, const relax::SeqNode& b) {
    std::vector<BlockView> x = merged_blocks(a), y = merged_blocks(b);
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      Step step(*this, "block ", i);
      if (x[i].dataflow != y[i].dataflow) {
        return differ(x[i].dataflow ? "dataflow" : "plain bindings",
                      y[i].dataflow ? "dataflow" : "plain bindings");
      }
      for (size_t k = 0; k < x[i].bindings.size() && k < y[i].bindings.size(); ++k) {
        Step inner(*this, "binding " + x[i].bindings[k]->var->name);
        if (!bindings(*x[i].bindings[k], *y[i].bindings[k], x[i].dataflow)) return false;
      }
      if (x[i].bindings.size() != y[i].bindings.size()) {
        return count("bindings", x[i].bindings.size(), y[i].bindings.size());
      }
    }
    if (x.size() != y.size()) return count("blocks", x.size(), y.size());
    Step step(*this, "result");
    return exprs(a.result, b.result);
  }

  bool relax_functions(const relax::Function& a, const relax::Function& b) {
    if (a.pure != b.pure) return differ(a.pure ? "pure" : "impure", b.pure ? "pure" : "impure");
    if (a.params.size() != b.params.size()) {
      return count("parameters", a.params.size(), b.params.size());
    }
    for (size_t i = 0; i < a.params.size(); ++i) {
      Step step(*this, "parameter " + a.params[i]->name);
      if (!bound_variables(*a.params[i], *b.params[i], false)) return false;
    }
    {
      Step step(*this, "return annotation");
      if (!annotations(a.result, b.result)) return false;
    }
    return exprs(a.body, b.body);
  }

  bool buffer_types(const tir::BufferNode& a, const tir::BufferNode& b) {
    if (a.dtype != b.dtype || a.scope != b.scope) {
      return differ(std::string(dtype_name(a.dtype)) + " in " + tir::scope_name(a.scope),
                    std::string(dtype_name(b.dtype)) + " in " + tir::scope_name(b.scope));
    }
    return lists(a.shape, b.shape) && lists(a.strides, b.strides);
  }
  bool define_buffer(const tir::Buffer& a, const tir::Buffer& b) {
    if (!buffer_types(*a, *b)) return false;
    define(a.get(), b.get());
    return true;
  }
  // A free buffer's type is compared at its first use.
  bool use_buffer(const tir::Buffer& a, const tir::Buffer& b) {
    bool known = to_b_.contains(a.get());
    return use(a.get(), b.get()) && (known || buffer_types(*a, *b));
  }

  bool prim_funcs(const tir::PrimFunc& a, const tir::PrimFunc& b) {
    if (a.params.size() != b.params.size()) {
      return count("parameters", a.params.size(), b.params.size());
    }
    if (a.scalars.size() != b.scalars.size()) {
      return count("scalars", a.scalars.size(), b.scalars.size());
    }
    for (size_t i = 0; i < a.scalars.size(); ++i) {
      if (a.scalars[i].dtype() != b.scalars[i].dtype()) {
        return differ(to_text(a.scalars[i]), to_text(b.scalars[i]));
      }
      define(a.scalars[i].get(), b.scalars[i].get());
    }
    for (size_t i = 0; i < a.params.size(); ++i) {
      Step step(*this, "parameter " + a.params[i].buffer->name);
      if (a.params[i].mode != b.params[i].mode) {
        return differ(access_mode_name(a.params[i].mode), access_mode_name(b.params[i].mode));
      }
      if (!define_buffer(a.params[i].buffer, b.params[i].buffer)) return false;
    }
    return requirements(a.requirements, b.requirements) && stmts(a.body, b.body);
  }

  bool requirements(const std::optional<tir::Requirements>& a,
                    const std::optional<tir::Requirements>& b) {
    if (!a && !b) return true;
    Step step(*this, "requirements");
    if (!a || !b) return differ(a ? "some" : "none", b ? "some" : "none");
    if (a->in_place != b->in_place) return differ("in_place", "another in_place");
    if (a->prepared != b->prepared) return differ("what is prepared", "something else");
    return scalars(a->workspace, b->workspace);
  }

  bool regions(const std::vector<tir::Region>& a, const std::vector<tir::Region>& b) {
    if (a.size() != b.size()) return count("regions", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      Step step(*this, "region ", i);
      if (!one_region(a[i], b[i])) return false;
    }
    return true;
  }

  bool one_region(const tir::Region& a, const tir::Region& b) {
    if (!use_buffer(a.buffer, b.buffer)) return differ(a.buffer->name, b.buffer->name);
    return lists(a.begins, b.begins) && lists(a.extents, b.extents);
  }

  bool matrices(const tir::MatrixNode& a, const tir::MatrixNode& b) {
    const bool same = a.op == b.op && a.layout == b.layout && a.width == b.width;
    if (!same || !use_buffer(a.fragment, b.fragment)) return false;
    for (auto buffer : {&tir::MatrixNode::memory, &tir::MatrixNode::left, &tir::MatrixNode::right,
                        &tir::MatrixNode::accumulator}) {
      if (a.*buffer && !use_buffer(a.*buffer, b.*buffer)) return false;
    }
    return lists(a.indices, b.indices) && scalars(a.leading, b.leading) &&
           scalars(a.value, b.value);
  }

  bool blocks(const tir::BlockNode& a, const tir::BlockNode& b) {
    Step step(*this, "block " + format_string(a.name));
    if (a.name != b.name) return differ(format_string(a.name), format_string(b.name));
    if (a.iters.size() != b.iters.size()) {
      return count("block iterators", a.iters.size(), b.iters.size());
    }
    for (size_t i = 0; i < a.iters.size(); ++i) {
      const tir::BlockIter &x = a.iters[i], &y = b.iters[i];
      Step inner(*this, "iterator " + x.var->name);
      if (x.type != y.type || x.var.dtype() != y.var.dtype()) {
        return differ(x.type == tir::IterType::kSpatial ? "spatial" : "reduce",
                      y.type == tir::IterType::kSpatial ? "spatial" : "reduce");
      }
      if (!scalars(x.extent, y.extent) || !scalars(x.binding, y.binding)) return false;
      define(x.var.get(), y.var.get());
    }
    if (!scalars(a.predicate, b.predicate)) return false;
    {
      Step inner(*this, "reads");
      if (!regions(a.reads, b.reads)) return false;
    }
    {
      Step inner(*this, "writes");
      if (!regions(a.writes, b.writes)) return false;
    }
    if (!a.init != !b.init) return differ(a.init ? "init" : "no init", b.init ? "init" : "no init");
    if (a.init) {
      Step inner(*this, "init");
      if (!stmts(a.init, b.init)) return false;
    }
    return stmts(a.body, b.body);
  }

  bool one_stmt(const tir::Stmt& a, const tir::Stmt& b) {
    auto no = [&] { return differ(print(a), print(b)); };
    if (a->kind != b->kind) return no();
    switch (a->kind) {
      case tir::StmtKind::kFor: {
        const auto &x = as<tir::ForNode>(a), &y = as<tir::ForNode>(b);
        Step step(*this, "for " + x.var->name);
        if (x.for_kind != y.for_kind || x.var.dtype() != y.var.dtype()) {
          return differ(tir::for_kind_name(x.for_kind), tir::for_kind_name(y.for_kind));
        }
        if (!scalars(x.extent, y.extent)) return false;
        define(x.var.get(), y.var.get());
        return stmts(x.body, y.body);
      }
      case tir::StmtKind::kStore: {
        const auto &x = as<tir::StoreNode>(a), &y = as<tir::StoreNode>(b);
        return use_buffer(x.buffer, y.buffer)
                   ? lists(x.indices, y.indices) && scalars(x.value, y.value)
                   : no();
      }
      case tir::StmtKind::kIf: {
        const auto &x = as<tir::IfNode>(a), &y = as<tir::IfNode>(b);
        if (!scalars(x.condition, y.condition)) return false;
        if (!x.else_body != !y.else_body) return no();
        return stmts(x.then_body, y.then_body) && stmts(x.else_body, y.else_body);
      }
      case tir::StmtKind::kAlloc: {
        const auto &x = as<tir::AllocNode>(a), &y = as<tir::AllocNode>(b);
        Step step(*this, "alloc " + x.buffer->name);
        return define_buffer(x.buffer, y.buffer) && stmts(x.body, y.body);
      }
      case tir::StmtKind::kBlock:
        return blocks(as<tir::BlockNode>(a), as<tir::BlockNode>(b));
      case tir::StmtKind::kMatrix:
        return matrices(as<tir::MatrixNode>(a), as<tir::MatrixNode>(b)) || no();
      case tir::StmtKind::kCopyAsync: {
        const auto &x = as<tir::CopyAsyncNode>(a), &y = as<tir::CopyAsyncNode>(b);
        return one_region(x.to, y.to) && one_region(x.from, y.from);
      }
      case tir::StmtKind::kWaitCopies:
        return as<tir::WaitCopiesNode>(a).outstanding == as<tir::WaitCopiesNode>(b).outstanding ||
               no();
      case tir::StmtKind::kCommitCopies:
      case tir::StmtKind::kBarrier:
      case tir::StmtKind::kSeq:
        return true;
    }
    return true;
  }

  EqualOptions options_;
  bool reported_ = false;
  std::vector<std::string> path_;
  std::unordered_map<const void*, const void*> to_a_, to_b_;
};

}  // namespace

bool structural_equal(const Module& a, const Module& b, EqualOptions options) {
  return Comparer(options).modules(a, b);
}
bool structural_equal(const BaseFunction& a, const BaseFunction& b, EqualOptions options) {
  return Comparer(options).functions(a, b);
}
bool structural_equal(const relax::Expr& a, const relax::Expr& b, EqualOptions options) {
  return Comparer(options).exprs(a, b);
}
bool structural_equal(const Annotation& a, const Annotation& b, EqualOptions options) {
  return Comparer(options).annotations(a, b);
}
bool structural_equal(const tir::Stmt& a, const tir::Stmt& b, EqualOptions options) {
  return Comparer(options).stmts(a, b);
}
bool structural_equal(const PrimExpr& a, const PrimExpr& b, EqualOptions options) {
  return Comparer(options).scalars(a, b);
}

}  // namespace tapml::text
