#include "passes/partial_evaluate.h"

#include <algorithm>
#include <utility>

#include "arith/analyzer.h"
#include "build/annotations.h"
#include "build/block_builder.h"
#include "build/pattern.h"
#include "ir/exceptions.h"
#include "passes/canonicalize.h"
#include "passes/contradictions.h"
#include "passes/fold_constants.h"
#include "passes/forward_rewrite.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/symbol_scope.h"
#include "relax/bounds.h"
#include "relax/captures.h"
#include "relax/rewrite.h"
#include "relax/unify.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool is_known_atom(const Expr& expr) {
  switch (expr->kind) {
    case relax::ExprKind::kVar:
    case relax::ExprKind::kConstant:
    case relax::ExprKind::kShape:
    case relax::ExprKind::kPrimValue:
    case relax::ExprKind::kGlobalVar:
      return true;
    default:
      return false;
  }
}

// Whether every program run has the same value for it.
bool is_known(const Expr& expr) {
  if (const auto* prim = as<PrimValueNode>(expr)) return prim->value.is_int();
  if (const auto* shape = as<ShapeNode>(expr)) {
    return std::all_of(shape->dims.begin(), shape->dims.end(),
                       [](const PrimExpr& dim) { return dim.is_int(); });
  }
  if (const auto* tuple = as<TupleNode>(expr)) {
    return !tuple->fields.empty() &&
           std::all_of(tuple->fields.begin(), tuple->fields.end(), is_known);
  }
  return expr->kind == relax::ExprKind::kConstant;
}

// The value of a condition, if known.
std::optional<bool> truth_of(const Expr& condition) {
  if (const auto* prim = as<PrimValueNode>(condition)) {
    if (prim->value.is_int()) return prim->value->int_value != 0;
  } else if (const auto* constant = as<ConstantNode>(condition)) {
    if (constant->value.dtype() == DType::kBool && constant->value.shape().empty()) {
      return constant->value.at_f64(0) != 0;
    }
  }
  return std::nullopt;
}

// Thrown to abandon the unrolling of a call: of the current one, if a decision in it depends on
// run-time values; of the outermost one, if it leads to too many calls.
struct Undecided {};
struct TooMuch {};

class Evaluator {
 public:
  Evaluator(const Module& module, std::string name) : module_(module), name_(std::move(name)) {}

  Expr run(const Function& function) {
    visible_.add(signature_vars(function));
    held_ = held_variables(function);
    pure_ = has_no_effects(function);
    return canonical(sequence(function.body));
  }

 private:
  // The blocks being written.
  struct Output {
    bool dataflow = false;
    bool nested = false;  // all bindings belong to an enclosing dataflow block
    std::vector<Block> blocks;

    void add(Binding binding) { add(std::move(binding), dataflow); }
    void add(Binding binding, bool is_dataflow) {
      if (blocks.empty() || blocks.back().dataflow != is_dataflow) {
        blocks.push_back({is_dataflow, {}});
      }
      blocks.back().bindings.push_back(std::move(binding));
    }
  };
  // A binding in progress; `key` is its original variable.
  struct Work {
    const VarNode* key;
    Binding binding;
  };
  struct Callee {
    FunctionRef function;
    std::vector<Var> visible;  // symbolic variables of the surroundings that it mentions
    std::string name;
    bool operator==(const Callee& other) const { return function == other.function; }
  };

  Expr sequence(const Expr& body) {
    const auto* seq = as<SeqNode>(body);
    if (!seq) return operand(body);
    const size_t symbols = visible_.size();
    Output out;
    Expr result = splice(*seq, out);
    visible_.shrink(symbols);
    return make_seq(std::move(out.blocks), std::move(result));
  }

  // Adds the sequence's bindings; returns its result.
  Expr splice(const SeqNode& seq, Output& out) {
    const bool outer = out.dataflow;
    for (const Block& block : seq.blocks) {
      out.dataflow = outer || block.dataflow;
      for (const Binding& binding : block.bindings) one(binding, out);
    }
    out.dataflow = outer;
    return operand(seq.result);
  }

  PrimExpr symbol(const PrimExpr& expr) {
    return analyzer_.simplify(symbols_.empty() ? expr : tapml::substitute(expr, symbols_));
  }
  Annotation annotation(const Annotation& given) {
    return symbols_.empty() ? given : build::simplified(relax::substitute(given, symbols_));
  }

  // A value other than an if or a function, with known values substituted.
  Expr operand(const Expr& expr) {
    switch (expr->kind) {
      case relax::ExprKind::kVar: {
        auto it = known_.find(as<VarNode>(expr));
        return it == known_.end() ? expr : it->second;
      }
      case relax::ExprKind::kPrimValue:
        return make_prim_value(symbol(as<PrimValueNode>(expr)->value));
      case relax::ExprKind::kShape: {
        Dims dims;
        for (const PrimExpr& dim : as<ShapeNode>(expr)->dims) dims.push_back(symbol(dim));
        return make_shape(std::move(dims));
      }
      case relax::ExprKind::kTuple:
        return make_tuple(operands(as<TupleNode>(expr)->fields));
      case relax::ExprKind::kTupleGetItem: {
        const auto* item = as<TupleGetItemNode>(expr);
        const Expr of = operand(item->tuple);
        const auto* var = as<VarNode>(of);
        auto it = var ? tuples_.find(var) : tuples_.end();
        const Expr field = tuple_field(it == tuples_.end() ? of : it->second, item->index);
        return field ? field : make_get_item(of, item->index);
      }
      case relax::ExprKind::kCall: {
        const auto* call = as<CallNode>(expr);
        std::vector<Annotation> annotations;
        for (const Annotation& one : call->annotations) annotations.push_back(annotation(one));
        return make_call(operand(call->callee), operands(call->args), call->attrs,
                         std::move(annotations));
      }
      default:
        return expr;
    }
  }
  std::vector<Expr> operands(const std::vector<Expr>& list) {
    std::vector<Expr> result;
    for (const Expr& expr : list) result.push_back(operand(expr));
    return result;
  }

  void set_variable(Work& work, Annotation annotation, bool dataflow) {
    work.binding.var = make_variable(work.binding.var->name, std::move(annotation), dataflow);
    known_[work.key] = work.binding.var;
    kept_.push_back(work.binding.var);
  }

  void one(const Binding& binding, Output& out) {
    Work work{binding.var.get(), binding};
    Binding& b = work.binding;
    const bool dataflow = b.var->dataflow || out.nested;
    if (!symbols_.empty() || !trials_.empty()) {
      set_variable(work, build::simplified(relax::substitute(b.var->annotation, symbols_)),
                   dataflow);
    }
    if (b.match_cast) return cast(std::move(work), out);
    if (const auto* lambda = as<FunctionNode>(b.value)) {
      if (out.nested) throw Undecided{};
      b.value = function_value(*lambda);
      if (!out.dataflow) {
        const FunctionRef& function = as<FunctionNode>(b.value)->function;
        lambdas_[b.var.get()] = {function, visible_in(*function), b.var->name};
      }
      return out.add(std::move(b));
    }
    if (const auto* branch = as<IfNode>(b.value)) return choose(*branch, std::move(work), out);
    b.value = operand(b.value);
    finish(std::move(work), out);
  }

  std::vector<Var> visible_in(const Function& lambda) const {
    std::vector<Var> mentioned;
    collect_symbols(lambda, mentioned);
    std::erase_if(mentioned, [&](const Var& var) { return !visible_.contains(var); });
    return mentioned;
  }

  Expr function_value(const FunctionNode& lambda) {
    const size_t symbols = visible_.size();
    auto own = std::make_shared<Function>(*lambda.function);
    for (Variable& param : own->params) {
      std::vector<Var> own_symbols;
      collect_vars(param->annotation, own_symbols);
      visible_.add(own_symbols);
      if (symbols_.empty()) continue;
      Variable renamed = make_variable(param->name, annotation(param->annotation));
      known_[param.get()] = renamed;
      param = renamed;
    }
    own->result = annotation(own->result);
    // The body runs when it is called: no call is being unrolled inside it.
    auto trials = std::exchange(trials_, {});
    const int calls = calls_;
    own->body = sequence(own->body);
    trials_ = std::move(trials);
    calls_ = calls;
    visible_.shrink(symbols);
    auto node = std::make_shared<FunctionNode>();
    node->function = std::move(own);
    return node;
  }

  void choose(const IfNode& branch, Work work, Output& out) {
    const Expr condition = operand(branch.condition);
    if (const std::optional<bool> truth = truth_of(condition)) {
      const Expr& taken = *truth ? branch.then_branch : branch.else_branch;
      const auto* seq = as<SeqNode>(taken);
      work.binding.value = seq ? splice(*seq, out) : operand(taken);
      return finish(std::move(work), out);
    }
    if (!trials_.empty()) throw Undecided{};
    auto node = std::make_shared<IfNode>();
    node->condition = condition;
    node->then_branch = sequence(branch.then_branch);
    node->else_branch = sequence(branch.else_branch);
    work.binding.value = std::move(node);
    out.add(std::move(work.binding));
  }

  static bool has_dataflow(const Expr& value) {
    if (const auto* var = as<VarNode>(value)) return var->dataflow;
    const auto* tuple = as<TupleNode>(value);
    return tuple && std::any_of(tuple->fields.begin(), tuple->fields.end(), has_dataflow);
  }

  // Fields replace projections wherever the variable is visible, so they must be, too.
  void note_tuple(const Binding& b) {
    if (!as<TupleNode>(b.value) || (has_dataflow(b.value) && !b.var->dataflow)) return;
    tuples_[b.var.get()] = b.value;
  }

  // A binding whose operands are fully simplified.
  void finish(Work work, Output& out) {
    Binding& b = work.binding;
    if (is_known_atom(b.value)) return name(std::move(work), out);
    note_tuple(b);
    if (as<CallNode>(b.value)) {
      if (take_over(work, out)) return;
      const bool may_fold = !held_.contains(work.key);
      if (Expr constant = may_fold ? folded_value(b.value, b.var->annotation) : nullptr) {
        b.value = std::move(constant);
        return name(std::move(work), out);
      }
      refine(work);
    }
    out.add(std::move(b));
  }

  // `var = atom`: the atom replaces the variable, if it is visible and its annotation is as
  // precise.
  void name(Work work, Output& out) {
    const Binding& b = work.binding;
    if (as<ConstantNode>(b.value) && held_.contains(work.key)) return out.add(b);
    const Annotation found = build::annotation_of_operand(b.value, module_);
    const auto* from = as<VarNode>(b.value);
    if (build::surely_fits(found, b.var->annotation)) {
      if (!from || !from->dataflow || b.var->dataflow) {
        known_[work.key] = b.value;
        return;
      }
      set_variable(work, found, false);  // the atom is not visible everywhere the variable is
    }
    out.add(b);
  }

  // Whether no check is needed for the bound of a variable with a solved value.
  bool is_bounded(const Var& var, const VarMap& solved) const {
    const Function* function = as_relax_function(module_.find(name_));
    const std::optional<int64_t> most = bound_of(var->name, module_, *function);
    return !most || keeps_bound(solved.at(var.get()), var->name, *most);
  }

  void cast(Work work, Output& out) {
    Binding& b = work.binding;
    b.value = operand(b.value);
    b.match_cast = annotation(b.match_cast);
    const Annotation found = build::annotation_of_operand(b.value, module_);
    std::vector<Var> own;
    collect_vars(b.match_cast, own);
    VarMap solved;
    for (const Var& var : own) {
      if (visible_.contains(var)) solved[var.get()] = var;
    }
    size_t wrong = 0;
    const bool is_solved = unify_all({b.match_cast}, {found}, solved, wrong) &&
                           std::all_of(own.begin(), own.end(), [&](const Var& var) {
                             return solved.contains(var.get()) && is_bounded(var, solved);
                           });
    const Annotation expected =
        is_solved ? build::simplified(relax::substitute(b.match_cast, solved)) : b.match_cast;
    if (is_solved && build::surely_fits(found, expected)) {
      for (const Var& var : own) {
        if (!solved.at(var.get()).same_as(var)) symbols_[var.get()] = solved.at(var.get());
      }
      b.match_cast = nullptr;
      note_tuple(b);
      set_variable(work, expected, b.var->dataflow);
      return finish(std::move(work), out);
    }
    if (!build::compatible(found, b.match_cast))
      never_fits(b, to_string(b.match_cast), to_string(found));
    visible_.add(own);
    out.add(std::move(b));
  }

  // The most precise annotation of the variable that known operands allow.
  void refine(Work& work) {
    Binding& b = work.binding;
    Annotation deduced;
    try {
      deduced = build::simplified(build::annotation_of_value(b.value, module_));
    } catch (const CompilerException& e) {
      if (!trials_.empty()) throw Undecided{};
      throw_user(e.error().message, place(b), e.error().expected, e.error().found, e.error().hint);
    }
    if (!build::compatible(deduced, b.var->annotation)) {
      never_fits(b, to_string(b.var->annotation), to_string(deduced));
    }
    if (build::surely_fits(deduced, b.var->annotation) &&
        !build::surely_fits(b.var->annotation, deduced)) {
      set_variable(work, deduced, b.var->dataflow);
    }
  }

  [[noreturn]] void never_fits(const Binding& b, const std::string& expected,
                               const std::string& found) const {
    if (!trials_.empty()) throw Undecided{};
    throw_user("a value known at compile time does not fit its annotation", place(b), expected,
               found);
  }
  std::string place(const Binding& b) const {
    return "function " + name_ + ", binding " + b.var->name;
  }

  // ---- calls

  std::optional<Callee> callee_of(const CallNode& call) const {
    if (const auto* var = as<VarNode>(call.callee)) {
      auto it = lambdas_.find(var);
      if (it == lambdas_.end() || !it->second.function->pure) return std::nullopt;
      return it->second;
    }
    const auto* global = as<GlobalVarNode>(call.callee);
    if (!global) return std::nullopt;
    auto it = module_.functions.find(global->name);
    const Function* function =
        it == module_.functions.end() ? nullptr : as_relax_function(it->second.get());
    if (!function || !function->pure || is_kernel(function) || build::is_pattern(function)) {
      return std::nullopt;
    }
    return Callee{std::static_pointer_cast<const Function>(it->second), {}, global->name};
  }

  // Returns false and changes nothing if the call stays.
  bool take_over(Work& work, Output& out) {
    const Expr value = work.binding.value;
    const auto& call = *as<CallNode>(value);
    const std::optional<Callee> callee = callee_of(call);
    if (!callee) return false;
    const bool is_outermost = trials_.empty();
    if (is_outermost) calls_ = 0;
    Output attempt;
    attempt.dataflow = attempt.nested = out.dataflow;
    Expr result;
    if (std::any_of(call.args.begin(), call.args.end(), is_known)) {
      if (++calls_ > kMostCalls) throw TooMuch{};
      const size_t symbols = visible_.size();
      trials_.push_back(*callee);
      try {
        result = inlined(call, *callee, work.binding, attempt);
      } catch (const Undecided&) {
        result = nullptr;
      } catch (const TooMuch&) {
        if (!is_outermost) throw;
        result = nullptr;
        trials_.resize(1);
      }
      trials_.pop_back();
      if (!result) visible_.shrink(symbols);
    }
    if (!result) {
      // Half of a recursion is no gain.
      if (!is_outermost && trials_.back() == *callee) throw Undecided{};
      return false;
    }
    for (Block& block : attempt.blocks) {
      for (Binding& binding : block.bindings) out.add(std::move(binding), block.dataflow);
    }
    work.binding.value = std::move(result);
    finish(std::move(work), out);
    return true;
  }

  // The call's result, with its bindings in `out`; null where an argument may not fit.
  Expr inlined(const CallNode& call, const Callee& callee, const Binding& binding, Output& out) {
    const Function& function = *callee.function;
    std::vector<Annotation> params, args;
    for (const Variable& param : function.params) params.push_back(param->annotation);
    for (const Expr& arg : call.args) args.push_back(build::annotation_of_operand(arg, module_));
    VarMap symbols;
    for (const Var& var : callee.visible) symbols[var.get()] = var;
    size_t wrong = 0;
    if (params.size() != args.size() || !unify_all(params, args, symbols, wrong)) return nullptr;
    if (!consumed_variables(function.body).empty()) return nullptr;  // the caller may read it again
    if (!function.facts.bounds.empty()) return nullptr;  // they apply to its own variables alone
    for (const Var& var : signature_vars(function)) {
      auto value = symbols.find(var.get());
      if (value == symbols.end()) return nullptr;
      const std::optional<int64_t> most = bound_of(var->name, module_, function);
      if (most && !keeps_bound(value->second, var->name, *most)) return nullptr;
    }
    ExprMap values;
    for (size_t i = 0; i < params.size(); ++i) {
      const Annotation expected = build::simplified(relax::substitute(params[i], symbols));
      const std::string& param = function.params[i]->name;
      values[function.params[i].get()] =
          checked(call.args[i], expected, param + "_of_" + callee.name,
                  {.what = "parameter " + param, .function = callee.name}, binding, out);
    }
    const Expr body = refresh(function.body, values, symbols);
    kept_.push_back(body);
    Function part = function;
    part.body = body;
    held_.merge(held_variables(part, pure_));
    Expr result = splice(*as<SeqNode>(body), out);
    return checked(result, build::simplified(relax::substitute(function.result, symbols)),
                   "result_of_" + callee.name, {.what = "result", .function = callee.name}, binding,
                   out);
  }

  // `value`, or a variable that a match_cast binds to it.
  Expr checked(const Expr& value, const Annotation& expected, const std::string& name,
               const CheckNote& note, const Binding& binding, Output& out) const {
    const Annotation found = build::annotation_of_operand(value, module_);
    if (build::surely_fits(found, expected)) return value;
    if (!build::compatible(found, expected)) throw Undecided{};
    Variable var = make_variable(name, expected, out.dataflow);
    out.add({var, value, expected, binding.origin, note});
    return var;
  }

  const Module& module_;
  std::string name_;
  arith::Analyzer analyzer_;
  std::set<const VarNode*> held_;          // variables that must not become a constant
  bool pure_ = true;                       // the function has no effects
  ExprMap known_;                          // the replacement of a variable
  VarMap symbols_;                         // the value of a symbolic variable
  std::map<const VarNode*, Expr> tuples_;  // the elements of tuple variables
  std::map<const VarNode*, Callee> lambdas_;
  // Variables that are keys above, also those of abandoned attempts: others must not take their
  // addresses.
  std::vector<Expr> kept_;
  SymbolScope visible_;
  std::vector<Callee> trials_;  // calls being unrolled
  int calls_ = 0;               // within the outermost one
};

}  // namespace

Module partial_evaluate(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    if (is_fused(*source)) continue;
    result.functions[name] = with_body(*source, Evaluator(module, name).run(*source));
  }
  refuse_contradictions(result, "what is known at compile time");
  return result;
}

}  // namespace tapml::passes
