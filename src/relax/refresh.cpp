#include "relax/refresh.h"

namespace tapml::relax {

namespace {

class Refresher {
 public:
  Refresher(const ExprMap& values, const VarMap& symbols) : values_(values), symbols_(symbols) {}

  Expr copy(const Expr& expr) {
    if (const auto* branch = as<IfNode>(expr)) {
      auto node = std::make_shared<IfNode>();
      node->condition = copy(branch->condition);
      node->then_branch = copy(branch->then_branch);
      node->else_branch = copy(branch->else_branch);
      return node;
    }
    if (const auto* seq = as<SeqNode>(expr)) return sequence(*seq);
    if (const auto* lambda = as<FunctionNode>(expr)) return function(*lambda->function);
    return substitute_symbols(substitute(expr, values_), symbols_);
  }

 private:
  Variable fresh(const Variable& var) {
    Variable own = make_variable(var->name, substitute(var->annotation, symbols_), var->dataflow);
    values_[var.get()] = own;
    return own;
  }

  // Variables that stand alone in `annotation` and have no value yet are bound by it.
  void bind_symbols(const Annotation& annotation) {
    std::vector<Var> vars;
    collect_vars(annotation, vars);
    for (const Var& var : vars) {
      if (!symbols_.contains(var.get())) symbols_[var.get()] = make_var(var->name, var.dtype());
    }
  }

  Expr sequence(const SeqNode& seq) {
    std::vector<Block> blocks;
    for (const Block& block : seq.blocks) {
      Block own{.dataflow = block.dataflow, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        // A lambda may call itself: its variable comes first.
        const bool is_lambda = binding.value->kind == ExprKind::kFunction;
        Variable var = is_lambda ? fresh(binding.var) : nullptr;
        Expr value = copy(binding.value);
        if (binding.match_cast) bind_symbols(binding.match_cast);
        Annotation cast = substitute(binding.match_cast, symbols_);
        if (!is_lambda) var = fresh(binding.var);
        own.bindings.push_back({std::move(var), std::move(value), std::move(cast), binding.origin});
      }
      blocks.push_back(std::move(own));
    }
    return make_seq(std::move(blocks), copy(seq.result));
  }

  Expr function(const Function& function) {
    for (const Variable& param : function.params) bind_symbols(param->annotation);
    auto own = std::make_shared<Function>(function);
    for (Variable& param : own->params) param = fresh(param);
    own->body = copy(function.body);
    own->result = substitute(function.result, symbols_);
    auto node = std::make_shared<FunctionNode>();
    node->function = std::move(own);
    return node;
  }

  ExprMap values_;
  VarMap symbols_;
};

}  // namespace

Expr refresh(const Expr& expr, const ExprMap& values, const VarMap& symbols) {
  return Refresher(values, symbols).copy(expr);
}

}  // namespace tapml::relax
