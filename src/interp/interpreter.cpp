#include "interp/interpreter.h"

#include "interp/item.h"
#include "ir/exceptions.h"
#include "relax/visit.h"

namespace tapml::interp {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Calls in calls beyond this are taken for endless recursion.
constexpr int kMaxDepth = 1000;

class Interpreter {
 public:
  Interpreter(const Module& module, KernelBody body, const std::vector<uint8_t>& wanted)
      : module_(module), body_(body), wanted_(wanted) {}

  Item call(const std::string& name, const std::vector<Item>& args) {
    const auto* function = as_relax_function(module_.find(name));
    if (!function) throw_user("the module has no graph-level function called @" + name);
    if (args.size() != function->params.size()) {
      throw_user("wrong number of arguments", "@" + name, std::to_string(function->params.size()),
                 std::to_string(args.size()));
    }
    if (++depth_ > kMaxDepth) throw_user("calls nest too deep", "@" + name);
    Scope scope;
    scope.function = name;
    AnnotationBinder binder(scope.symbols, "@" + name);
    for (size_t i = 0; i < args.size(); ++i) {
      binder.bind(function->params[i]->annotation, args[i],
                  "parameter " + function->params[i]->name);
      scope.vars[function->params[i].get()] = args[i];
    }
    binder.finish();
    Item result = evaluate(function->body, scope);
    --depth_;
    return result;
  }

 private:
  struct Scope {
    std::string function;
    std::map<const VarNode*, Item> vars;
    Symbols symbols;
  };

  Item evaluate(const Expr& expr, Scope& scope) {
    switch (expr->kind) {
      case relax::ExprKind::kVar: {
        auto it = scope.vars.find(static_cast<const VarNode*>(expr.get()));
        if (it == scope.vars.end()) {
          throw_internal("variable " + as<VarNode>(expr)->name + " has no value",
                         "@" + scope.function);
        }
        return it->second;
      }
      case relax::ExprKind::kConstant:
        return constant(expr);
      case relax::ExprKind::kShape: {
        Item item;
        item.kind = ItemKind::kShape;
        for (const PrimExpr& dim : as<ShapeNode>(expr)->dims) {
          item.ints.push_back(value_of(dim, scope.symbols));
        }
        return item;
      }
      case relax::ExprKind::kPrimValue: {
        Item item;
        item.kind = ItemKind::kPrim;
        item.ints = {value_of(as<PrimValueNode>(expr)->value, scope.symbols)};
        return item;
      }
      case relax::ExprKind::kTuple: {
        Item item;
        item.kind = ItemKind::kTuple;
        for (const Expr& field : as<TupleNode>(expr)->fields) {
          item.fields.push_back(evaluate(field, scope));
        }
        return item;
      }
      case relax::ExprKind::kTupleGetItem: {
        const auto* node = as<TupleGetItemNode>(expr);
        Item tuple = evaluate(node->tuple, scope);
        auto index = static_cast<size_t>(node->index);
        if (tuple.kind != ItemKind::kTuple || index >= tuple.fields.size()) {
          throw_user("a field that does not exist is taken", "@" + scope.function,
                     "a tuple of more than " + std::to_string(node->index), describe(tuple));
        }
        return tuple.fields[index];
      }
      case relax::ExprKind::kCall:
        return evaluate_call(*as<CallNode>(expr), scope);
      case relax::ExprKind::kIf: {
        const auto* node = as<IfNode>(expr);
        return evaluate(
            truth(evaluate(node->condition, scope), scope) ? node->then_branch : node->else_branch,
            scope);
      }
      case relax::ExprKind::kSeq: {
        const auto* seq = as<SeqNode>(expr);
        for (const Block& block : seq->blocks) {
          for (const Binding& binding : block.bindings) bind(binding, scope);
        }
        return evaluate(seq->result, scope);
      }
      default:
        throw_user("the interpreter cannot evaluate function values", "@" + scope.function);
    }
  }

  void bind(const Binding& binding, Scope& scope) {
    Item value = evaluate(binding.value, scope);
    if (binding.match_cast) {
      AnnotationBinder binder(scope.symbols, "@" + scope.function);
      binder.bind(binding.match_cast, value,
                  "the value that match_cast binds to " + binding.var->name);
      binder.finish();
    }
    scope.vars[binding.var.get()] = std::move(value);
  }

  Item constant(const Expr& expr) {
    auto [it, is_new] = constants_.try_emplace(expr.get());
    if (is_new) it->second = tensor_item(op::RefTensor::from(as<ConstantNode>(expr)->value));
    return it->second;
  }

  static bool truth(const Item& condition, const Scope& scope) {
    if (condition.kind == ItemKind::kPrim) return condition.ints[0] != 0;
    if (condition.kind == ItemKind::kTensor && condition.tensor->values.size() == 1) {
      return condition.tensor->values[0] != 0;
    }
    throw_user("the condition of an if is not a single truth value", "@" + scope.function,
               "a bool tensor of rank 0", describe(condition));
  }

  std::vector<Item> evaluate_all(const std::vector<Expr>& exprs, Scope& scope) {
    std::vector<Item> items;
    for (const Expr& expr : exprs) items.push_back(evaluate(expr, scope));
    return items;
  }

  Item evaluate_call(const CallNode& node, Scope& scope) {
    if (const auto* global = as<GlobalVarNode>(node.callee)) {
      return call(global->name, evaluate_all(node.args, scope));
    }
    const auto* op = as<OperatorNode>(node.callee);
    if (!op) {
      throw_user("the interpreter cannot evaluate calls of packed functions or function values",
                 "@" + scope.function);
    }
    if (op->name == "call_tir" || op->name == "call_tir_inplace") {
      return call_kernel(node, scope);
    }
    if (op->name == "call_dps_library") {
      throw_user("the interpreter cannot evaluate library calls", "@" + scope.function);
    }
    if (op->name == op::kTensorToShape) return read_shape(node, scope);
    return call_operator(node, evaluate_all(node.args, scope));
  }

  // The integers of a tensor as a shape.
  Item read_shape(const CallNode& node, Scope& scope) {
    op::deduce(node);
    Item source = evaluate(node.args[0], scope);
    Item shape;
    shape.kind = ItemKind::kShape;
    for (size_t i = 0; i < source.tensor->values.size(); ++i) {
      shape.ints.push_back(source.tensor->integer(i));
      if (shape.ints.back() < 0) {
        throw_user("a tensor that is read as a shape has a negative element", "@" + scope.function,
                   "dimensions of at least 0", std::to_string(shape.ints.back()));
      }
    }
    return shape;
  }

  Item call_operator(const CallNode& node, const std::vector<Item>& items) {
    std::vector<Expr> stand_ins;
    for (const Item& item : items) stand_ins.push_back(make_variable("", exact_annotation(item)));
    Expr call = make_call(node.callee, std::move(stand_ins), node.attrs);
    op::CallView view = op::view_call(*as<CallNode>(call));
    Annotation result = view.info.deduce(view);
    if (const auto* shape = as_shape(result); shape && shape->dims) {
      Item item;
      item.kind = ItemKind::kShape;
      for (const PrimExpr& dim : *shape->dims) item.ints.push_back(value_of(dim, {}));
      return item;
    }

    std::vector<op::RefArg> args;
    for (const Item& item : items) add_argument(item, args);
    std::vector<Annotation> types = {result};
    const auto* tuple = as_tuple(result);
    if (tuple) types = tuple->fields;
    std::vector<op::RefTensor> outputs;
    for (size_t i = 0; i < types.size(); ++i) {
      int64_t source = i < view.info.inout.size() ? view.info.inout[i] : -1;
      outputs.push_back(source >= 0 ? *items[static_cast<size_t>(source)].tensor
                                    : empty_tensor(types[i], view.info.name));
    }
    for (op::RefTensor& output : outputs) {
      if (output.values.size() == wanted_.size()) output.wanted = wanted_;
    }
    view.info.reference(view.attrs, args, outputs);
    if (!tuple) return tensor_item(std::move(outputs[0]));
    Item item;
    item.kind = ItemKind::kTuple;
    for (op::RefTensor& output : outputs) item.fields.push_back(tensor_item(std::move(output)));
    return item;
  }

  static void add_argument(const Item& item, std::vector<op::RefArg>& args) {
    if (item.kind == ItemKind::kTuple) {
      for (const Item& field : item.fields) add_argument(field, args);
    } else {
      args.push_back({item.tensor.get(), item.ints});
    }
  }

  static op::RefTensor empty_tensor(const Annotation& annotation, const char* op) {
    const auto* tensor = as_tensor(annotation);
    // A shape that depends on the data: the reference sets it.
    if (tensor && !tensor->shape && tensor->dtype) return op::RefTensor::zeros(*tensor->dtype, {0});
    if (!tensor || !tensor->shape || !tensor->dtype) {
      throw_internal("the result of concrete arguments is not concrete: " + to_string(annotation),
                     op);
    }
    Shape shape;
    for (const PrimExpr& dim : *tensor->shape) shape.push_back(value_of(dim, {}));
    return op::RefTensor::zeros(*tensor->dtype, std::move(shape));
  }

  Item call_kernel(const CallNode& node, Scope& scope) {
    const std::string& name = call_tir_callee(node);
    std::vector<Item> args = evaluate_all(call_tir_args(node), scope);
    std::vector<int64_t> symbols;
    for (const PrimExpr& symbol : call_tir_symbols(node)) {
      symbols.push_back(value_of(symbol, scope.symbols));
    }
    const auto* spec = as_relax_function(module_.find(name));
    if (spec && body_ == KernelBody::kSpec) {
      if (!symbols.empty()) {
        Item shape;
        shape.kind = ItemKind::kShape;
        shape.ints = symbols;
        args.push_back(std::move(shape));
      }
      return call(name, args);
    }
    // Hand-written tensor programs are their own spec.
    const tir::PrimFunc* func = tir::as_prim_func(module_.find(name));
    if (spec) {
      const auto* attr = find_attr<std::string>(spec->attrs, "implementation");
      func = attr ? tir::as_prim_func(module_.find(*attr)) : nullptr;
    }
    if (!func) throw_user("kernel @" + name + " has no implementation", "@" + scope.function);
    const auto* inout = find_attr<std::vector<int64_t>>(node.attrs, "inout_indices");
    std::vector<int64_t> updated = inout ? *inout : std::vector<int64_t>();
    if (spec) return run_loops(*func, name, args, symbols, std::move(updated), false);
    // A person wrote this program: what it does wrong is no defect of the compiler.
    auto result = guard([&] {
      return run_loops(*func, name, args, symbols, std::move(updated), body_ == KernelBody::kSpec);
    });
    if (result) return *std::move(result);
    Error error = std::move(result).error();
    if (error.kind != ErrorKind::kInternal) throw_error(std::move(error));
    throw_user(error.message, "tensor program @" + name);
  }

  // `args` are the in and inout parameters in order. Output j is argument inout[j] where that is
  // not negative, else the next out parameter. `judged`: in f64 with bounds.
  Item run_loops(const tir::PrimFunc& func, const std::string& name, const std::vector<Item>& args,
                 const std::vector<int64_t>& symbols, std::vector<int64_t> inout, bool judged) {
    Symbols values;
    AnnotationBinder binder(values, "@" + name);
    size_t next = 0;
    for (const tir::Param& param : func.params) {
      if (param.mode != AccessMode::kIn && param.mode != AccessMode::kInOut) continue;
      if (next == args.size()) throw_user("too few arguments", "@" + name);
      binder.bind(tensor_annotation(param.buffer->shape, param.buffer->dtype), args[next++],
                  "parameter " + param.buffer->name);
    }
    size_t next_symbol = 0;
    std::vector<int64_t> scalars;
    for (const Var& var : func.scalars) {
      if (!values.contains(var.get())) {
        if (next_symbol == symbols.size()) {
          throw_user("too few symbolic arguments: " + var->name + " has no value", "@" + name);
        }
        values[var.get()] = symbols[next_symbol++];
      }
      scalars.push_back(values[var.get()]);
    }
    binder.finish();

    std::vector<op::RefTensor> params;
    next = 0;
    for (const tir::Param& param : func.params) {
      if (param.mode == AccessMode::kIn || param.mode == AccessMode::kInOut) {
        params.push_back(*args[next++].tensor);
      } else {
        Shape shape;
        for (const PrimExpr& dim : param.buffer->shape) shape.push_back(value_of(dim, values));
        params.push_back(op::RefTensor::zeros(param.buffer->dtype, std::move(shape)));
      }
    }
    if (judged) {
      judge_prim_func(func, params, scalars);
    } else {
      std::vector<HostTensor> host;
      for (const op::RefTensor& param : params) host.push_back(param.to_host());
      run_prim_func(func, host, scalars);
      for (size_t i = 0; i < params.size(); ++i) params[i] = op::RefTensor::from(host[i]);
    }
    std::vector<size_t> given, fresh;
    for (size_t i = 0; i < params.size(); ++i) {
      AccessMode mode = func.params[i].mode;
      if (mode == AccessMode::kIn || mode == AccessMode::kInOut) given.push_back(i);
      if (mode == AccessMode::kOut) fresh.push_back(i);
    }
    if (inout.empty()) inout.assign(fresh.size(), -1);
    Item results;
    results.kind = ItemKind::kTuple;
    size_t next_fresh = 0;
    for (int64_t source : inout) {
      size_t i = source >= 0 ? given.at(static_cast<size_t>(source)) : fresh.at(next_fresh++);
      results.fields.push_back(tensor_item(params[i]));
    }
    return results.fields.size() == 1 ? results.fields[0] : results;
  }

  const Module& module_;
  KernelBody body_;
  const std::vector<uint8_t>& wanted_;
  std::map<const relax::ExprNode*, Item> constants_;
  int depth_ = 0;
};

}  // namespace

Value call(const Module& module, const std::string& function, const std::vector<Value>& args,
           KernelBody body, const std::vector<uint8_t>& wanted) {
  std::vector<Item> items;
  for (const Value& arg : args) items.push_back(borrow(arg));
  return to_value(Interpreter(module, body, wanted).call(function, items));
}

}  // namespace tapml::interp
