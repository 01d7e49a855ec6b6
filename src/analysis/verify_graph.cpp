// Invariants R1 to R10.
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/verifier_impl.h"
#include "base/undo_map.h"
#include "relax/solve.h"
#include "relax/storage.h"
#include "text/printer.h"

namespace tapml::analysis {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

using Symbol = const tapml::ExprNode*;

class GraphVerifier {
 public:
  GraphVerifier(const Module& module, Report& report) : module_(module), report_(report) {}

  void function(const Function& f) {
    Scope scope(*this);
    std::vector<Annotation> params;
    for (const Variable& param : f.params) params.push_back(param->annotation);
    bind_symbols(params);
    for (const Variable& param : f.params) {
      report_.at("parameter " + param->name);
      annotation(param->annotation, "the parameter");
      if (param->dataflow) report_.add("R3", "a parameter is a dataflow variable");
      bind(*param);
    }
    report_.at("result annotation");
    annotation(f.result, "the function");
    report_.at("");
    bool outer_dataflow = in_dataflow_, outer_pure = pure_;
    in_dataflow_ = false;
    pure_ = f.pure;
    const auto* seq = as<SeqNode>(f.body);
    if (!seq) {
      report_.add("R4", "the function's body is not a sequence");
    } else {
      sequence(*seq, [&] {
        report_.at("result");
        if (f.result) result(seq->result, f.result);
      });
    }
    in_dataflow_ = outer_dataflow;
    pure_ = outer_pure;
  }

 private:
  // Removes at its end what was bound inside.
  struct Scope {
    explicit Scope(GraphVerifier& v)
        : v(v), vars(v.visible_log_.size()), symbols(v.symbol_log_.size()) {}
    ~Scope() {
      for (; v.visible_log_.size() > vars; v.visible_log_.pop_back()) {
        v.visible_.erase(v.visible_log_.back());
      }
      for (; v.symbol_log_.size() > symbols; v.symbol_log_.pop_back()) {
        v.symbols_.erase(v.symbol_log_.back());
      }
    }
    GraphVerifier& v;
    size_t vars, symbols;
  };

  void bind(const VarNode& var) {
    if (!known_.insert(&var).second) {
      report_.add("R1", "the variable '" + var.name + "' is bound twice");
    }
    if (visible_.insert(&var).second) visible_log_.push_back(&var);
  }

  void use(const VarNode& var) {
    if (!visible_.contains(&var)) {
      bool ended = known_.contains(&var);
      report_.add(ended && var.dataflow ? "R3" : "R1",
                  "the variable '" + var.name + "' is used " +
                      (!ended         ? "before it is bound"
                       : var.dataflow ? "outside its dataflow block"
                                      : "outside the branch that binds it"));
    }
    if (const std::string* consumer = consumed_.find(root(&var))) {
      report_.add("R7",
                  "the variable '" + var.name + "' is used after " + *consumer + " consumed it");
    }
  }

  // The variable whose storage `var` certainly has.
  const VarNode* root(const VarNode* var) const {
    auto it = alias_.find(var);
    return it == alias_.end() ? var : it->second;
  }

  // Binds the symbolic variables that values of these annotations determine.
  void bind_symbols(const std::vector<Annotation>& annotations) {
    for (Symbol symbol : relax::bind_symbols(annotations, symbols_)) symbol_log_.push_back(symbol);
  }

  void symbolic(const PrimExpr& e, bool is_dimension) {
    if (!e) return report_.add("R10", "a symbolic integer is missing");
    verify_expr(e, report_);
    if (is_dimension && e.dtype() != DType::kI64) {
      report_.add("R10", "the dimension " + text::print(e) + " has dtype " + dtype_name(e.dtype()));
    }
    visit_expr(e, [&](const PrimExpr& node) {
      if (node.kind() == tapml::ExprKind::kLoad) {
        report_.add("R10", "the symbolic expression " + text::print(e) + " loads from a buffer");
      }
    });
    for (const Var& var : free_vars(e)) {
      if (!symbols_.contains(var.get())) {
        report_.add("R2", "the symbolic variable '" + var->name +
                              "' is bound by no parameter or match_cast before");
      }
    }
  }

  void annotation(const Annotation& a, const std::string& what) {
    if (!a) return report_.add("R9", what + " has no annotation");
    if (const auto* prim = as_prim(a)) {
      if (prim->value) symbolic(prim->value, false);
      if (prim->value && prim->value.dtype() != prim->dtype) {
        report_.add("R10", "the scalar " + text::print(prim->value) + " has dtype " +
                               dtype_name(prim->value.dtype()) + " instead of " +
                               dtype_name(prim->dtype));
      }
    } else if (const auto* shape = as_shape(a)) {
      if (shape->dims) {
        for (const PrimExpr& dim : *shape->dims) symbolic(dim, true);
      }
    } else if (const auto* tensor = as_tensor(a)) {
      if (tensor->shape) {
        for (const PrimExpr& dim : *tensor->shape) symbolic(dim, true);
      }
    } else if (const auto* tuple = as_tuple(a)) {
      for (const Annotation& field : tuple->fields) annotation(field, what);
    } else if (const auto* callable = as_callable(a)) {
      // Its parameters bind symbolic variables of their own.
      Scope scope(*this);
      bind_symbols(callable->params);
      for (const Annotation& param : callable->params) annotation(param, what);
      annotation(callable->result, what);
    }
  }

  // Checks an operand; false if it is not an atom or a tuple of atoms.
  bool atom(const Expr& e, const char* what) {
    if (!e) {
      report_.add("R4", std::string(what) + " is missing");
      return false;
    }
    switch (e->kind) {
      case relax::ExprKind::kVar:
        use(*as<VarNode>(e));
        return true;
      case relax::ExprKind::kConstant:
        return true;
      case relax::ExprKind::kShape:
        for (const PrimExpr& dim : as<ShapeNode>(e)->dims) symbolic(dim, true);
        return true;
      case relax::ExprKind::kPrimValue:
        symbolic(as<PrimValueNode>(e)->value, false);
        return true;
      case relax::ExprKind::kGlobalVar:
        if (!module_.find(as<GlobalVarNode>(e)->name)) {
          report_.add("R5", "no function is called @" + as<GlobalVarNode>(e)->name);
        }
        return true;
      case relax::ExprKind::kExternFunc:
        return true;
      case relax::ExprKind::kTuple: {
        bool good = true;
        for (const Expr& field : as<TupleNode>(e)->fields) good &= atom(field, "a tuple's field");
        return good;
      }
      default:
        report_.add("R4", std::string(what) + " is not an atom: " + first_line(e));
        return false;
    }
  }

  static std::string first_line(const Expr& e) {
    std::string text = text::print(e);
    size_t end = text.find('\n');
    return end == std::string::npos ? text : text.substr(0, end) + " ...";
  }

  bool is_impure(const Expr& callee) const {
    if (callee->kind == relax::ExprKind::kExternFunc) return true;
    if (const auto* global = as<GlobalVarNode>(callee)) {
      const auto* f = as_relax_function(module_.find(global->name));
      return f && !f->pure;
    }
    const auto* var = as<VarNode>(callee);
    const auto* callable = var ? as_callable(var->annotation) : nullptr;
    return callable && !callable->pure;
  }

  void call(const CallNode& node, const VarNode& bound) {
    if (!node.callee) return report_.add("R4", "a call has no callee");
    const auto* op = as<OperatorNode>(node.callee);
    if (!op) {
      bool named = node.callee->kind == relax::ExprKind::kVar ||
                   node.callee->kind == relax::ExprKind::kGlobalVar ||
                   node.callee->kind == relax::ExprKind::kExternFunc;
      if (!named) return report_.add("R4", "the callee is not a name: " + first_line(node.callee));
      atom(node.callee, "the callee");
      if (pure_ && is_impure(node.callee)) {
        report_.add("R11",
                    "a pure function calls " + first_line(node.callee) + ", which is impure");
      }
      if (in_dataflow_ && is_impure(node.callee)) {
        report_.add("R8",
                    "a dataflow block calls " + first_line(node.callee) + ", which is impure");
      }
    }
    if (storage_op(node) != StorageOp::kNone) storage(node, bound);
    bool good = true;
    for (const Expr& arg : node.args) good &= atom(arg, "an argument");
    for (const Annotation& a : node.annotations) annotation(a, "an output");
    if (!op || !good) return;
    if (op->name.starts_with("memory.")) verify_memory(op->name, node, report_);
    if (op->name == "call_tir" || op->name == "call_tir_inplace" || op->name == "call_tir_dps") {
      verify_kernel_call(module_, op->name, node, report_);
      if (op->name == "call_tir_inplace") consume(node, bound);
    }
  }

  void storage(const CallNode& node, const VarNode& bound) {
    const std::string& name = as<OperatorNode>(node.callee)->name;
    if (is_storage_question(storage_op(node))) return;
    if (in_dataflow_) report_.add("R8", "a dataflow block calls " + name + ", which is impure");
    if (pure_) report_.add("R11", "a pure function calls " + name + ", which is impure");
    const auto* target = node.args.empty() ? nullptr : as<VarNode>(node.args[0]);
    if (!target) return report_.add("R12", name + " is given something other than a variable");
    if (is_storage_view(storage_op(node))) alias_[&bound] = root(target);
  }

  void consume(const CallNode& node, const VarNode& bound) {
    const auto* indices = find_attr<std::vector<int64_t>>(node.attrs, "inout_indices");
    const auto* args = node.args.size() > 1 ? as<TupleNode>(node.args[1]) : nullptr;
    if (!indices || !args) return;
    for (int64_t index : *indices) {
      if (index < 0 || index >= static_cast<int64_t>(args->fields.size())) continue;
      const auto* var = as<VarNode>(args->fields[static_cast<size_t>(index)]);
      if (!var) continue;
      for (size_t i = 0; i < args->fields.size(); ++i) {
        const auto* other = as<VarNode>(args->fields[i]);
        if (static_cast<int64_t>(i) != index && other && root(other) == root(var)) {
          report_.add("R7", "the call consumes '" + var->name + "' and uses it a second time");
        }
      }
      consumed_.set(root(var), "'" + bound.name + "'");
    }
  }

  void branch(const IfNode& node, const VarNode& bound) {
    if (in_dataflow_) report_.add("R8", "a dataflow block has an if");
    atom(node.condition, "the condition");
    std::string place = report_.place();
    // Only one branch runs: what it consumes is unavailable after the if, but not in the other
    // branch.
    auto side = [&](const Expr& expr) {
      const auto* seq = as<SeqNode>(expr);
      if (!seq) return report_.add("R4", "a branch is not a sequence");
      sequence(*seq, [&] {
        report_.at("result of a branch of " + bound.name);
        atom(seq->result, "the result");
      });
      report_.at(place);
    };
    run_sides(consumed_, [&] { side(node.then_branch); }, [&] { side(node.else_branch); });
  }

  void value(const Expr& e, const VarNode& bound) {
    if (!e) return report_.add("R4", "the value is missing");
    switch (e->kind) {
      case relax::ExprKind::kCall:
        call(*as<CallNode>(e), bound);
        break;
      case relax::ExprKind::kIf:
        branch(*as<IfNode>(e), bound);
        break;
      case relax::ExprKind::kTupleGetItem:
        atom(as<TupleGetItemNode>(e)->tuple, "the tuple of a projection");
        break;
      case relax::ExprKind::kFunction: {
        std::string place = report_.place();
        if (as<FunctionNode>(e)->function) {
          function(*as<FunctionNode>(e)->function);
        } else {
          report_.add("R4", "a lambda has no function");
        }
        report_.at(place);
        break;
      }
      case relax::ExprKind::kVar:
        alias_[&bound] = root(as<VarNode>(e));
        atom(e, "the value");
        break;
      case relax::ExprKind::kSeq:
        report_.add("R4",
                    "a sequence is bound to a variable; it is allowed only as a body or branch");
        break;
      default:
        atom(e, "the value");
        break;
    }
  }

  void binding(const Binding& b, bool dataflow) {
    if (!b.var) return report_.add("R4", "a binding has no variable");
    report_.at("binding " + b.var->name);
    // A function may call itself by its own variable.
    const bool is_function = b.value && b.value->kind == relax::ExprKind::kFunction;
    if (is_function) bind(*b.var);
    value(b.value, *b.var);
    if (b.match_cast) {
      bind_symbols({b.match_cast});
      annotation(b.match_cast, "match_cast");
      if (dataflow && as_callable(b.match_cast)) {
        report_.add("R8", "a dataflow block casts a function");
      }
    }
    annotation(b.var->annotation, "the variable");
    if (b.var->dataflow && !dataflow) {
      report_.add("R3", "a dataflow variable is bound outside a dataflow block");
    }
    if (!is_function) bind(*b.var);
  }

  template <class Result>
  void sequence(const SeqNode& seq, Result&& check_result) {
    Scope scope(*this);
    for (const Block& block : seq.blocks) {
      bool outer = in_dataflow_;
      in_dataflow_ = outer || block.dataflow;
      for (const Binding& b : block.bindings) binding(b, block.dataflow);
      in_dataflow_ = outer;
      for (const Binding& b : block.bindings) {
        if (block.dataflow && b.var && b.var->dataflow) visible_.erase(b.var.get());
      }
    }
    check_result();
  }

  // R9 for a returned value: parts that either side does not know agree with anything.
  void fits(const Annotation& declared, const Annotation& found) {
    if (!declared || !found || declared->kind == AnnotationKind::kObject ||
        found->kind == AnnotationKind::kObject) {
      return;
    }
    bool good = declared->kind == found->kind;
    if (good) {
      if (const auto* tensor = as_tensor(declared)) {
        const auto* other = as_tensor(found);
        good = (tensor->ndim == other->ndim || tensor->ndim == kUnknownNdim ||
                other->ndim == kUnknownNdim) &&
               (!tensor->dtype || !other->dtype || *tensor->dtype == *other->dtype);
      } else if (const auto* shape = as_shape(declared)) {
        const auto* other = as_shape(found);
        good = shape->ndim == other->ndim || shape->ndim == kUnknownNdim ||
               other->ndim == kUnknownNdim;
      } else if (const auto* prim = as_prim(declared)) {
        good = prim->dtype == as_prim(found)->dtype;
      } else if (const auto* tuple = as_tuple(declared)) {
        const auto* other = as_tuple(found);
        good = tuple->fields.size() == other->fields.size();
        for (size_t i = 0; good && i < tuple->fields.size(); ++i) {
          fits(tuple->fields[i], other->fields[i]);
        }
      }
    }
    if (!good) {
      report_.add("R9", "returns " + text::print(found) + " but declares " + text::print(declared));
    }
  }

  void result(const Expr& e, const Annotation& declared) {
    if (atom(e, "the result")) fits(declared, annotation_of(e));
  }

  const Module& module_;
  Report& report_;
  std::unordered_set<const VarNode*> known_, visible_;
  std::vector<const VarNode*> visible_log_;
  std::set<Symbol> symbols_;
  std::vector<Symbol> symbol_log_;
  std::unordered_map<const VarNode*, const VarNode*> alias_;
  UndoMap<const VarNode*, std::string> consumed_;
  bool in_dataflow_ = false;
  bool pure_ = true;
};

}  // namespace

void verify_graph(const Module& module, const Function& function, Report& report) {
  GraphVerifier(module, report).function(function);
  if (report.clean()) verify_storages(module, function, report);
}

}  // namespace tapml::analysis
