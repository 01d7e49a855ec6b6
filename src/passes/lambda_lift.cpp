#include "passes/lambda_lift.h"

#include <algorithm>
#include <iterator>

#include "passes/contradictions.h"
#include "passes/graph_functions.h"
#include "passes/symbol_scope.h"
#include "relax/captures.h"
#include "relax/check_location.h"
#include "relax/rewrite.h"
#include "relax/symbol_ranges.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Symbolic variables of the enclosing scope that an annotation names. Variables in the parameters
// of a Callable belong to the Callable.
void collect_scope_vars(const Annotation& annotation, std::vector<Var>& into) {
  if (const auto* tuple = as_tuple(annotation)) {
    for (const Annotation& field : tuple->fields) collect_scope_vars(field, into);
    return;
  }
  const auto* callable = as_callable(annotation);
  if (!callable) return collect_vars(annotation, into);
  std::vector<Var> own, used;
  for (const Annotation& param : callable->params) collect_vars(param, own);
  collect_scope_vars(callable->result, used);
  for (const Var& var : used) {
    const bool is_own =
        std::any_of(own.begin(), own.end(), [&](const Var& other) { return other.same_as(var); });
    if (!is_own) into.push_back(var);
  }
}

// Whether a lambda's body is one call of a function of the module that passes the lambda's
// parameters last, and remains one: not of a function that is to be inlined.
bool only_passes_on(const Function& lambda, const Module& module) {
  const SeqNode& body = body_of(lambda);
  if (body.blocks.size() != 1 || body.blocks[0].bindings.size() != 1) return false;
  const Binding& only = body.blocks[0].bindings[0];
  const auto* call = as<CallNode>(only.value);
  if (body.result != only.var || only.match_cast || !call || !as<GlobalVarNode>(call->callee) ||
      call->args.size() < lambda.params.size()) {
    return false;
  }
  const Function* callee = as_relax_function(module.find(as<GlobalVarNode>(call->callee)->name));
  if (callee && callee->facts.is_inline) return false;
  const size_t captures = call->args.size() - lambda.params.size();
  for (size_t i = 0; i < call->args.size(); ++i) {
    const bool is_param = i >= captures && call->args[i] == lambda.params[i - captures];
    if (i >= captures && !is_param) return false;
    for (const Variable& param : lambda.params) {
      if (i < captures && call->args[i] == param) return false;
    }
  }
  return true;
}

// The target for calls of a lambda's variable.
struct Target {
  std::string function;
  std::vector<Expr> captured;
};

Expr passing_on(const Function& lambda, const Target& target) {
  std::vector<Variable> params;
  std::vector<Expr> args = target.captured;
  for (const Variable& param : lambda.params) {
    params.push_back(make_variable(param->name, param->annotation));
    args.push_back(params.back());
  }
  Variable result = make_variable("r", lambda.result);
  Block block;
  block.bindings.push_back(
      {result, make_call(make_global(target.function), std::move(args)), nullptr, {}});
  auto node = std::make_shared<FunctionNode>();
  node->function = make_function(std::move(params), make_seq({block}, result), lambda.result,
                                 lambda.all_attrs(), lambda.pure);
  return node;
}

class Lifter {
 public:
  // `outer`: symbols of the enclosing function.
  Lifter(Module& module, std::string name, std::map<std::string, int>& numbers,
         const Lifter* outer = nullptr)
      : module_(module), name_(std::move(name)), numbers_(numbers), outer_(outer) {}

  FunctionRef run(const Function& function) {
    for (const Variable& param : function.params) bind_symbols(param->annotation);
    for (const auto& [var, source] : symbol_sources(function)) {
      std::vector<std::string>& text = sources_[var];
      text = {source.place + " of " + name_};
      if (!source.expression.empty()) text.push_back(source.expression);
    }
    auto copy = std::make_shared<Function>(function);
    copy->body = sequence(function.body);
    return copy;
  }

 private:
  Expr sequence(const Expr& body) {
    const auto* seq = as<SeqNode>(body);
    if (!seq) return body;
    const size_t outer = symbols_.size();
    std::vector<Block> blocks;
    for (const Block& block : seq->blocks) {
      Block copy{.dataflow = block.dataflow, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        Binding b = binding;
        b.value = value(binding);
        copy.bindings.push_back(std::move(b));
        if (binding.match_cast) bind_symbols(binding.match_cast);
      }
      blocks.push_back(std::move(copy));
    }
    symbols_.shrink(outer);
    return drop_unused(std::move(blocks), seq->result);
  }

  // Removes lambdas that are no longer used as values.
  Expr drop_unused(std::vector<Block> blocks, const Expr& result) const {
    auto uses = use_counts(make_seq(blocks, result));
    for (size_t b = blocks.size(); b-- > 0;) {
      std::vector<Binding> kept;
      for (size_t i = blocks[b].bindings.size(); i-- > 0;) {
        Binding& binding = blocks[b].bindings[i];
        if (!targets_.contains(binding.var.get()) || uses[binding.var.get()] > 0) {
          kept.push_back(std::move(binding));
          continue;
        }
        visit(binding.value, [&](const Expr& e) {
          if (const auto* var = as<VarNode>(e)) --uses[var];
        });
      }
      blocks[b].bindings.assign(std::make_move_iterator(kept.rbegin()),
                                std::make_move_iterator(kept.rend()));
    }
    std::erase_if(blocks, [](const Block& block) { return block.bindings.empty(); });
    return make_seq(std::move(blocks), result);
  }

  Expr value(const Binding& binding) {
    if (const auto* lambda = as<FunctionNode>(binding.value)) {
      return only_passes_on(*lambda->function, module_)
                 ? binding.value
                 : lift(*lambda, binding.var, written_name(binding));
    }
    if (const auto* branch = as<IfNode>(binding.value)) {
      auto node = std::make_shared<IfNode>(*branch);
      node->then_branch = sequence(branch->then_branch);
      node->else_branch = sequence(branch->else_branch);
      return node;
    }
    const auto* call = as<CallNode>(binding.value);
    const auto* var = call ? as<VarNode>(call->callee) : nullptr;
    const Target* target = var ? target_of(var) : nullptr;
    return target ? redirected(*call, *target) : binding.value;
  }

  const Target* target_of(const VarNode* var) const {
    for (const Lifter* lifter = this; lifter; lifter = lifter->outer_) {
      auto it = lifter->targets_.find(var);
      if (it != lifter->targets_.end()) return &it->second;
    }
    return nullptr;
  }

  void bind_symbols(const Annotation& annotation) {
    std::vector<Var> vars;
    collect_scope_vars(annotation, vars);
    symbols_.add(vars);
  }

  bool is_in_scope(const Var& symbol) const {
    return symbols_.contains(symbol) || (outer_ && outer_->is_in_scope(symbol));
  }

  const std::vector<std::string>* source_of(const PrimExpr& symbol) const {
    for (const Lifter* lifter = this; lifter; lifter = lifter->outer_) {
      auto it = lifter->sources_.find(symbol.get());
      if (it != lifter->sources_.end()) return &it->second;
    }
    return nullptr;
  }

  static Expr redirected(const CallNode& call, const Target& target) {
    std::vector<Expr> args = target.captured;
    args.insert(args.end(), call.args.begin(), call.args.end());
    return make_call(make_global(target.function), std::move(args), call.attrs);
  }

  // Like Module::unique_name, but remembers the last number instead of trying each one again:
  // branches may have many lambdas of one name.
  std::string unique_name(const std::string& base) {
    std::string name = base;
    for (int& number = numbers_[base]; module_.functions.contains(name);) {
      name = base + "_" + std::to_string(++number);
    }
    return name;
  }

  // `written`: the lambda's name in the program.
  Expr lift(const FunctionNode& original, const Variable& self, const std::string& written) {
    // Inner lambdas first, so that this one captures what they capture.
    auto lambda = std::make_shared<FunctionNode>();
    const std::string name = unique_name(name_ + "." + written);
    module_.functions[name] = nullptr;  // reserves the name
    lambda->function = Lifter(module_, name, numbers_, this).run(*original.function);
    std::vector<Variable> captured = captured_variables(*lambda->function, self.get());
    std::vector<Var> mentioned;
    collect_symbols(*lambda->function, mentioned);
    for (const Variable& var : captured) collect_vars(var->annotation, mentioned);

    // The function has its own variables and symbols.
    VarMap own;
    Dims outer_symbols, own_symbols;
    for (const Var& var : mentioned) {
      if (!own.emplace(var.get(), make_var(var->name, var.dtype())).second) continue;
      if (!is_in_scope(var)) continue;
      outer_symbols.push_back(var);
      own_symbols.push_back(own.at(var.get()));
    }
    Target outside{name, {}}, inside{name, {}};
    std::vector<Variable> params;
    ExprMap values;
    if (!outer_symbols.empty()) {
      params.push_back(make_variable("s", shape_annotation(own_symbols)));
      outside.captured.push_back(make_shape(outer_symbols));
      inside.captured.push_back(make_shape(own_symbols));
    }
    auto add_param = [&](const Variable& var) {
      params.push_back(make_variable(var->name, substitute(var->annotation, own)));
      values[var.get()] = params.back();
    };
    for (const Variable& var : captured) {
      add_param(var);
      outside.captured.push_back(var);
      inside.captured.push_back(params.back());
    }
    for (const Variable& param : lambda->function->params) add_param(param);
    std::vector<Var> made;
    for (const Var& var : mentioned) made.push_back(own.at(var.get()));
    state_least_values(made, annotations_of(params));
    Variable own_self = make_variable(self->name, substitute(self->annotation, own));
    values[self.get()] = own_self;
    Expr body = substitute_all(lambda->function->body, values, own);
    body = map_blocks(body, [&](const Block& block) {
      Block copy = block;
      for (Binding& binding : copy.bindings) {
        const auto* call = as<CallNode>(binding.value);
        if (call && call->callee == own_self) binding.value = redirected(*call, inside);
      }
      return copy;
    });
    Annotation result = substitute(lambda->function->result, own);
    if (use_counts(body)[own_self.get()] > 0) {
      // The function as a value, for other uses.
      Function signature;
      const size_t first = params.size() - lambda->function->params.size();
      signature.params.assign(params.begin() + static_cast<std::ptrdiff_t>(first), params.end());
      signature.result = result;
      signature.pure = lambda->function->pure;
      std::vector<Block> blocks = as<SeqNode>(body)->blocks;
      Block first_block;
      first_block.bindings.push_back({own_self, passing_on(signature, inside), nullptr, {}});
      blocks.insert(blocks.begin(), std::move(first_block));
      body = make_seq(std::move(blocks), as<SeqNode>(body)->result);
    }
    AttrMap attrs = lambda->function->all_attrs();
    attrs["private"] = true;
    for (const PrimExpr& symbol : outer_symbols) {
      if (const auto* source = source_of(symbol)) attrs[kSourcePrefix + symbol->name] = *source;
    }
    module_.functions[name] =
        make_function(std::move(params), body, result, std::move(attrs), lambda->function->pure);
    targets_[self.get()] = outside;
    return passing_on(*lambda->function, outside);
  }

  Module& module_;
  std::string name_;
  std::map<std::string, int>& numbers_;  // last number used as a suffix, by function name
  const Lifter* outer_;
  SymbolScope symbols_;                                                 // of this function
  std::map<const tapml::ExprNode*, std::vector<std::string>> sources_;  // of their values
  std::map<const VarNode*, Target> targets_;
};

}  // namespace

Module lambda_lift(const Module& module) {
  Module result = module;
  std::map<std::string, int> numbers;
  for (const auto& [name, source] : graph_functions(module)) {
    result.functions[name] = Lifter(result, name, numbers).run(*source);
  }
  // Drops a variable's annotation of a closure in favor of the closure's.
  if (result.functions.size() > module.functions.size()) {
    refuse_contradictions(result, "the functions that are called");
  }
  return result;
}

}  // namespace tapml::passes
