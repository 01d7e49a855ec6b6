#include "interp/interpreter.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "abi/negative_dimension.h"
#include "arith/evaluate.h"
#include "base/host/thread_pool.h"
#include "interp/apply.h"
#include "interp/item.h"
#include "interp/last_uses.h"
#include "interp/operand_check.h"
#include "interp/promises.h"
#include "interp/scope.h"
#include "interp/scope_check.h"
#include "interp/storage.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "relax/captures.h"
#include "relax/check_location.h"
#include "relax/kernel_call.h"
#include "relax/tail_call.h"
#include "relax/visit.h"

namespace tapml::interp {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Bytes of the thread's stack that calls may use: sanitizers make frames many times larger.
constexpr intptr_t kMaxStack = intptr_t{6} << 20;

// Approximate current stack pointer.
[[gnu::noinline]] intptr_t stack_position() {
  return reinterpret_cast<intptr_t>(__builtin_frame_address(0));
}

// Threads for all calls. They exist until the process ends: a copy of it that a fork made, where
// they do not run, could not wait for them.
ThreadPool& shared_threads() {
  static auto* const kThreads = new ThreadPool;
  return *kThreads;
}

// Number of bindings, excluding those in branches.
int64_t binding_count(const Expr& body) {
  const auto* seq = as<SeqNode>(body);
  int64_t count = 0;
  for (size_t i = 0; seq && i < seq->blocks.size(); ++i)
    count += std::ssize(seq->blocks[i].bindings);
  return count;
}

// What a lambda captures. Includes all symbolic variables that occur in it: its own have no value
// where it is created.
struct Captures {
  std::vector<Variable> vars;
  std::vector<Var> symbols;
};

class Interpreter {
 public:
  Interpreter(const Module& module, const CallOptions& options)
      : module_(module),
        body_(options.body),
        packed_(options.packed),
        symbols_(module),
        max_tail_calls_(options.max_tail_calls),
        max_calls_(options.max_calls),
        limits_{options.max_elements, options.poll,
                options.wanted,       options.products,
                options.allowed,      options.threads ? *options.threads : shared_threads()},
        watcher_(options.watcher),
        observe_(options.observe) {
    for (const auto& [name, base] : module.functions) {
      const auto* function = as_relax_function(base.get());
      if (!function || function->pure) continue;
      visit(function->body,
            [&](const Expr& e) { writes_ = writes_ || storage_op(e) != StorageOp::kNone; });
    }
  }

  Item call(const std::string& name, std::vector<Item> args) {
    return invoke(named(name), std::move(args));
  }

  // A function of the Module as a value.
  std::shared_ptr<const Closure> named(const std::string& name) {
    std::shared_ptr<const Closure>& known = named_[name];
    if (known) return known;
    auto it = module_.functions.find(name);
    if (it == module_.functions.end() || !as_relax_function(it->second.get())) {
      throw_user("the module has no graph-level function called @" + name);
    }
    auto closure = std::make_shared<Closure>();
    closure->function = std::static_pointer_cast<const Function>(it->second);
    closure->name = name;
    return known = std::move(closure);
  }

  Item import(const Value& value) {
    if (const auto* function = std::get_if<FunctionValue>(&value.data)) {
      return function_item(function->closure ? function->closure : named(function->name));
    }
    if (const auto* list = std::get_if<std::shared_ptr<const ValueList>>(&value.data)) {
      Item item;
      item.kind = ItemKind::kTuple;
      for (const Value& field : **list) item.fields.push_back(import(field));
      return item;
    }
    Item item = borrow(value);
    if (writes_) own(item);
    return item;
  }

 private:
  // A tail call, which replaces its caller.
  struct Tail {
    std::shared_ptr<const Closure> callee;
    std::vector<Item> args;
    Promises promises;
  };

  static Item function_item(std::shared_ptr<const Closure> closure) {
    Item item;
    item.kind = ItemKind::kFunction;
    item.closure = std::move(closure);
    return item;
  }

  Item invoke(std::shared_ptr<const Closure> callee, std::vector<Item> args) {
    if (depth_ >= kMaxDepth || std::abs(stack_base_ - stack_position()) > kMaxStack) {
      throw_user("function calls are nested too deeply", "function " + callee->name,
                 "at most " + std::to_string(kMaxDepth) + " calls in progress");
    }
    ++depth_;
    Promises promises;
    for (int64_t turn = 0;; ++turn) {
      if (limits_.poll) limits_.poll();
      if (max_calls_ > 0 && ++calls_ > max_calls_) {
        throw_user("a run makes more than " + std::to_string(max_calls_) + " calls",
                   "function " + callee->name);
      }
      if (turn > max_tail_calls_) {
        throw_user("a loop does not end", "function " + callee->name,
                   "at most " + std::to_string(max_tail_calls_) + " iterations");
      }
      const Function& function = *callee->function;
      if (watcher_ && depth_ == 1) {
        bound_ = 0;
        bindings_ = std::max<int64_t>(binding_count(function.body), 1);
      }
      if (args.size() != function.params.size()) {
        throw_user("wrong number of arguments", "function " + callee->name,
                   std::to_string(function.params.size()), std::to_string(args.size()));
      }
      Scope scope;
      scope.function = callee->name;
      scope.running = &function;
      scope.symbols = callee->symbols;
      for (const auto& [var, item] : callee->vars) scope.vars[var] = item;
      if (callee->self) scope.vars[callee->self] = function_item(callee);
      const CheckedFunction checked{symbols_, function, scope.function};
      AnnotationBinder binder(scope.symbols, &checked);
      for (size_t i = 0; i < args.size(); ++i) {
        binder.bind(function.params[i]->annotation, args[i],
                    parameter_location(function.params[i], callee->name));
        scope.vars[function.params[i].get()] = std::move(args[i]);
      }
      binder.finish();
      Tail tail;
      Item result = body(function.body, scope, tail);
      const std::string place = result_location(callee->name);
      if (!tail.callee) {
        if (function.result) check(symbols_, function.result, result, place, scope);
        promises.keep(result, symbols_);
        --depth_;
        return result;
      }
      if (function.result) promises.add(function.result, place, scope);
      promises.add_all(std::move(tail.promises));
      callee = std::move(tail.callee);
      args = std::move(tail.args);
    }
  }

  // The value of a body, or of a branch of `of`, that the function returns. If it is a call whose
  // result needs no further check, fills `tail` instead.
  Item body(const Expr& expr, Scope& scope, Tail& tail, const Binding* of = nullptr) {
    const auto result = [&](const Expr& value) {
      return located(of, scope, [&] { return evaluate(value, scope); });
    };
    const auto* seq = as<SeqNode>(expr);
    if (!seq) return result(expr);
    const Binding* last = returned_binding(*seq);
    for (const Block& block : seq->blocks) {
      for (const Binding& binding : block.bindings) {
        if (&binding == last) continue;
        bind(binding, scope);
        if (!of) forget(*seq, binding, scope);
      }
    }
    if (!last) return result(seq->result);
    if (const auto* branch = as<IfNode>(last->value)) {
      const bool condition =
          located(last, scope, [&] { return truth(evaluate(branch->condition, scope)); });
      Item value = body(condition ? branch->then_branch : branch->else_branch, scope, tail, last);
      const std::string place = binding_location(*last, scope.function);
      if (tail.callee) {
        tail.promises.add(last->var->annotation, place, scope);
      } else {
        check(symbols_, last->var->annotation, value, place, scope);
      }
      return value;
    }
    const auto* call = as<CallNode>(last->value);
    const bool calls = call && located(last, scope, [&] {
                         tail.callee = callee_of(*call, scope);
                         if (tail.callee) tail.args = evaluate_all(call->args, scope);
                         return tail.callee != nullptr;
                       });
    if (calls) {
      tail.promises.add(last->var->annotation, binding_location(*last, scope.function), scope);
      return {};
    }
    bind(*last, scope);
    return result(seq->result);
  }

  // Frees the values that nothing uses after `binding` of a function's body.
  void forget(const SeqNode& body, const Binding& binding, Scope& scope) {
    auto [it, is_new] = last_uses_.try_emplace(&body);
    if (is_new) it->second = last_uses(body);
    const auto unused = it->second.find(&binding);
    if (unused == it->second.end()) return;
    for (const VarNode* var : unused->second) scope.vars.erase(var);
  }

  // The called function; null if the callee is not a function.
  std::shared_ptr<const Closure> callee_of(const CallNode& call, Scope& scope) {
    if (const auto* global = as<GlobalVarNode>(call.callee)) return named(global->name);
    if (!as<VarNode>(call.callee)) return nullptr;
    Item item = evaluate(call.callee, scope);
    if (item.kind != ItemKind::kFunction) {
      throw_user("the called value is not a function", "", "a function value", describe(item));
    }
    return item.closure;
  }

  Item evaluate(const Expr& expr, Scope& scope) {
    switch (expr->kind) {
      case relax::ExprKind::kVar: {
        auto it = scope.vars.find(static_cast<const VarNode*>(expr.get()));
        if (it == scope.vars.end()) {
          throw_internal("variable " + as<VarNode>(expr)->name + " has no value",
                         "function " + scope.function);
        }
        Item item = it->second;
        refresh(item);
        return item;
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
        return prim(as<PrimValueNode>(expr)->value, scope);
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
          throw_user("the tuple does not have this field", "",
                     "a tuple of more than " + std::to_string(node->index), describe(tuple));
        }
        return tuple.fields[index];
      }
      case relax::ExprKind::kCall:
        return evaluate_call(*as<CallNode>(expr), scope);
      case relax::ExprKind::kIf: {
        const auto* node = as<IfNode>(expr);
        return evaluate(
            truth(evaluate(node->condition, scope)) ? node->then_branch : node->else_branch, scope);
      }
      case relax::ExprKind::kSeq: {
        const auto* seq = as<SeqNode>(expr);
        for (const Block& block : seq->blocks) {
          for (const Binding& binding : block.bindings) bind(binding, scope);
        }
        return evaluate(seq->result, scope);
      }
      case relax::ExprKind::kGlobalVar:
        return function_item(named(as<GlobalVarNode>(expr)->name));
      case relax::ExprKind::kFunction:
        return lambda(*as<FunctionNode>(expr), nullptr, scope);
      default:
        throw_user("a packed function or an operator is used as a value",
                   "function " + scope.function,
                   "a call of it; a function of the module that calls it is a value");
    }
  }

  static Item prim(const PrimExpr& value, const Scope& scope) {
    Item item;
    item.kind = ItemKind::kPrim;
    item.dtype = value.dtype();
    item.ints = {0};
    if (!is_float(item.dtype)) {
      item.ints = {value_of(value, scope.symbols)};
    } else if (value.kind() == tapml::ExprKind::kFloat) {
      item.number = value->float_value;
    } else {
      throw_user("a float host scalar is not a constant", "function " + scope.function,
                 "a literal, or a tensor of rank 0", to_string(value));
    }
    return item;
  }

  // `binding` is the binding whose value it is; null for an unnamed value.
  Item lambda(const FunctionNode& node, const Binding* binding, Scope& scope) {
    const VarNode* self = binding ? binding->var.get() : nullptr;
    auto [it, is_new] = captures_.try_emplace(node.function.get());
    Captures& captures = it->second;
    if (is_new) {
      captures.vars = captured_variables(*node.function, self);
      collect_symbols(*node.function, captures.symbols);
    }
    auto closure = std::make_shared<Closure>();
    closure->function = node.function;
    closure->name =
        binding ? lambda_name(scope.function, *binding) : "a lambda of " + scope.function;
    closure->self = self;
    for (const Variable& var : captures.vars) {
      auto value = scope.vars.find(var.get());
      if (value == scope.vars.end()) {
        throw_internal("variable " + var->name + " has no value", "function " + scope.function);
      }
      closure->vars.emplace_back(var.get(), value->second);
    }
    for (const Var& symbol : captures.symbols) {
      auto value = scope.symbols.find(symbol.get());
      if (value != scope.symbols.end()) closure->symbols.insert(*value);
    }
    return function_item(std::move(closure));
  }

  // Counts bindings of the outermost function; with those of its branches they may exceed the
  // total.
  void count_binding() {
    if (!watcher_ || depth_ != 1) return;
    tell(watcher_, {"reference", std::min(bound_, bindings_ - 1), bindings_, "operators"});
    ++bound_;
  }

  void bind(const Binding& binding, Scope& scope) {
    if (limits_.poll) limits_.poll();
    count_binding();
    const auto* function = as<FunctionNode>(binding.value);
    const auto* call = as<CallNode>(binding.value);
    Item value = located(&binding, scope, [&] {
      if (function) return lambda(*function, &binding, scope);
      if (!call || !as<OperatorNode>(call->callee)) return evaluate(binding.value, scope);
      return made(binding, scope);
    });
    const std::string place = binding_location(binding, scope.function);
    if (binding.match_cast) {
      const CheckedFunction checked{symbols_, *scope.running, scope.function};
      AnnotationBinder binder(scope.symbols, &checked);
      binder.bind(binding.match_cast, value, place);
      binder.finish();
    }
    if (call) check_stated(symbols_, *call, value, place, scope);
    check(symbols_, binding.var->annotation, value, place, scope);
    if (observe_ && depth_ == 1 && value.kind == ItemKind::kTensor) {
      observe_(binding, *value.tensor);
    }
    scope.vars[binding.var.get()] = std::move(value);
  }

  // The result of an operator.
  Item made(const Binding& binding, Scope& scope) {
    try {
      return evaluate(binding.value, scope);
    } catch (const CompilerException& refused) {
      if (!refused.error().message.starts_with("a dimension of shape ")) throw;
      throw_error(with_sources(refused.error(),
                               sources_of_negative(symbols_, binding.var->annotation, scope)));
    }
  }

  Item constant(const Expr& expr) {
    auto [it, is_new] = constants_.try_emplace(expr.get());
    if (is_new) it->second = tensor_item(op::RefTensor::from(as<ConstantNode>(expr)->value));
    Item item = it->second;
    if (writes_) own(item);  // a write must not reach the constant
    return item;
  }

  static bool truth(const Item& condition) {
    if (condition.kind == ItemKind::kPrim && condition.dtype == DType::kBool) {
      return condition.ints[0] != 0;
    }
    if (condition.kind == ItemKind::kTensor && condition.tensor->dtype == DType::kBool &&
        condition.tensor->shape.empty()) {
      return condition.tensor->values[0] != 0;
    }
    throw_user("the condition of an if is not a single truth value", "", "a bool tensor of rank 0",
               describe(condition));
  }

  std::vector<Item> evaluate_all(const std::vector<Expr>& exprs, Scope& scope) {
    std::vector<Item> items;
    for (const Expr& expr : exprs) items.push_back(evaluate(expr, scope));
    return items;
  }

  Item evaluate_call(const CallNode& node, Scope& scope) {
    if (std::shared_ptr<const Closure> callee = callee_of(node, scope)) {
      return invoke(std::move(callee), evaluate_all(node.args, scope));
    }
    if (const auto* packed = as<ExternFuncNode>(node.callee))
      return call_packed(*packed, node, scope);
    const auto* op = as<OperatorNode>(node.callee);
    if (!op) throw_internal("the callee is not a name", "function " + scope.function);
    if (op->name == "call_tir" || op->name == "call_tir_inplace") {
      std::vector<Item> args = evaluate_all(call_tir_args(node), scope);
      Item result = call_kernel(node, args, scope);
      const auto* inout = find_attr<std::vector<int64_t>>(node.attrs, "inout_indices");
      return inout ? updated_views(*inout, args, std::move(result)) : result;
    }
    if (op->name == "call_dps_library") {
      const auto* routine = node.args.empty() ? nullptr : as<ExternFuncNode>(node.args[0]);
      throw_user("the interpreter cannot evaluate the library routine \"" +
                     (routine ? routine->name : std::string()) + "\": it has no specification",
                 "", "operators and tensor programs", "call_dps_library");
    }
    if (StorageOp storage = storage_op(node); storage != StorageOp::kNone) {
      return call_storage(storage, node, evaluate_all(node.args, scope));
    }
    if (op->name == op::kTensorToShape) return read_shape(node, scope);
    std::vector<Item> args = evaluate_all(node.args, scope);
    Item result = call_operator(node, args, scope);
    const op::OperatorInfo* info = op::operator_of(*op);
    return info ? updated_views(info->inout, args, std::move(result)) : result;
  }

  // If an operator rejects its operands, reports the error of a compiled program, if annotations
  // determine which operand it checks.
  Item call_operator(const CallNode& node, const std::vector<Item>& args, Scope& scope) const {
    try {
      return apply_operator(node, args, limits_);
    } catch (const CompilerException& exception) {
      if (exception.error().kind == ErrorKind::kUser && scope.binding) {
        check_operands(node, args, *scope.binding, scope.function, scope.symbols,
                       [&](const Annotation& expected, const Item& item, const std::string& place) {
                         check(symbols_, expected, item, place, scope);
                       });
      }
      throw;
    }
  }

  Item call_packed(const ExternFuncNode& packed, const CallNode& node, Scope& scope) {
    auto it = packed_.find(packed.name);
    if (it == packed_.end()) {
      throw_user("no packed function is called \"" + packed.name + "\"",
                 "function " + scope.function, "a packed function that the host provides");
    }
    ValueList args;
    for (const Item& arg : evaluate_all(node.args, scope)) args.push_back(to_value(arg));
    const Value result = it->second(args);
    Item item = import(result);
    own(item);
    return item;
  }

  // The integers of a tensor as a shape.
  Item read_shape(const CallNode& node, Scope& scope) {
    op::deduce(node);
    return shape_from(*evaluate(node.args[0], scope).tensor);
  }

  Item call_kernel(const CallNode& node, std::vector<Item> args, Scope& scope) {
    const std::string& name = call_tir_callee(node);
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
      return call(name, std::move(args));
    }
    // Hand-written tensor programs are their own spec.
    const tir::PrimFunc* func = tir::as_prim_func(module_.find(name));
    if (spec) func = tir::as_prim_func(module_.find(spec->facts.implementation));
    if (!func)
      throw_user("kernel @" + name + " has no implementation", "function " + scope.function);
    const auto* inout = find_attr<std::vector<int64_t>>(node.attrs, "inout_indices");
    std::vector<int64_t> updated = inout ? *inout : std::vector<int64_t>();
    if (spec) {
      return apply_program(*func, name, args, symbols, std::move(updated), false, limits_);
    }
    if (body_ == KernelBody::kSpec && scope.binding) {
      check_arguments(symbols_, *func, node, args, scope);
    }
    // The user wrote this program, so its errors are not compiler defects.
    auto result = guard([&] {
      return apply_program(*func, name, args, symbols, std::move(updated),
                           body_ == KernelBody::kSpec, limits_);
    });
    if (result) return *std::move(result);
    Error error = std::move(result).error();
    if (error.kind != ErrorKind::kInternal) throw_error(std::move(error));
    throw_user(error.message, "tensor program @" + name);
  }

  const Module& module_;
  KernelBody body_;
  const HostFunctions& packed_;
  const ModuleSymbols symbols_;
  int64_t max_tail_calls_, max_calls_, calls_ = 0;
  const ApplyLimits limits_;
  const WorkWatcher& watcher_;
  const std::function<void(const relax::Binding&, const op::RefTensor&)>& observe_;
  int64_t bound_ = 0, bindings_ = 0;  // bindings of the outermost function: evaluated and total
  bool writes_ = false;  // some tensor may be written, so the caller's are copied first
  std::map<std::string, std::shared_ptr<const Closure>> named_;
  std::map<const Function*, Captures> captures_;
  std::map<const SeqNode*, LastUses> last_uses_;
  std::map<const relax::ExprNode*, Item> constants_;
  int depth_ = 0;
  const intptr_t stack_base_ = stack_position();
};

}  // namespace

Value call(const Module& module, const std::string& function, const std::vector<Value>& args,
           const CallOptions& options) {
  Interpreter interpreter(module, options);
  std::vector<Item> items;
  for (const Value& arg : args) items.push_back(interpreter.import(arg));
  Value result = to_value(interpreter.call(function, std::move(items)));
  tell(options.watcher, {"reference", 1, 1, "operators"});
  return result;
}

Value call(const Module& module, const std::string& function, const std::vector<Value>& args,
           KernelBody body, const std::vector<uint8_t>& wanted) {
  return call(module, function, args, CallOptions{.body = body, .wanted = wanted, .packed = {}});
}

}  // namespace tapml::interp
