#include "passes/lift_preparation.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "op/operator.h"
#include "passes/graph_functions.h"
#include "passes/weights.h"
#include "relax/rewrite.h"
#include "relax/visit.h"
#include "text/printer.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Bytes of a tensor of constant shape; -1 otherwise.
int64_t constant_bytes(const Annotation& annotation) {
  const auto* tensor = as_tensor(annotation);
  if (!tensor || !tensor->shape || !tensor->dtype) return -1;
  int64_t bytes = static_cast<int64_t>(dtype_bytes(*tensor->dtype));
  for (const PrimExpr& dim : *tensor->shape) {
    if (!dim.is_int() || __builtin_mul_overflow(bytes, dim->int_value, &bytes)) return -1;
  }
  return bytes;
}

bool is_reshape(const Expr& value) { return called_operator(value) == "reshape"; }

// A value computed from weights and constants alone, in any function: equal keys are equal values.
struct Known {
  std::string key;
  std::string weight;                       // the weight's name; empty: computed
  std::vector<const VarNode*> computed_of;  // known values it is computed from
};
using KnownValues = std::unordered_map<const VarNode*, Known>;

class PreparationLifter {
 public:
  explicit PreparationLifter(const Module& module) : module_(module), parameters_(module) {}

  Module run() {
    if (module_.find(kPrepareFunction)) return module_;
    const std::set<std::string> takers = functions_with_weights(module_);
    Module result = module_;
    std::map<std::string, FunctionRef> changed;
    for (const auto& [name, function] : graph_functions(module_)) {
      if (!takers.contains(name)) continue;
      for (const Variable& param : function->params) note_weight(param);
      if (function->pure) changed[name] = rewrite(name, *function);
    }
    if (results_.empty()) return module_;
    for (const std::string& name : takers) {
      auto function = changed.contains(name)
                          ? std::make_shared<Function>(*changed.at(name))
                          : std::make_shared<Function>(*as_relax_function(module_.find(name)));
      // Functions take all results; unused ones cost nothing.
      std::vector<Variable>& mine = params_[name];
      mine.resize(results_.size());
      for (size_t i = 0; i < results_.size(); ++i) {
        function->params.push_back(mine[i] ? mine[i] : parameter(i));
      }
      result.functions[name] = std::move(function);
    }
    result.functions[kPrepareFunction] = prepare();
    std::vector<std::string> names;
    for (size_t i = 0; i < results_.size(); ++i) names.push_back(name_of(i));
    result.facts.prepared = std::move(names);
    return result;
  }

 private:
  static std::string name_of(size_t result) { return "prepared." + std::to_string(result); }
  Variable parameter(size_t result) const {
    return make_variable(name_of(result), results_[result]->annotation);
  }

  void note_weight(const Variable& param) { weights_.emplace(param->name, param); }

  // The key of a binding's value; empty where it depends on anything else.
  std::optional<Known> known_call(const Binding& binding, const KnownValues& values) {
    const op::OperatorInfo* info = op::called_operator_info(binding.value);
    if (!info || !info->pure || info->expands || !info->inout.empty() || info->outputs != 1 ||
        binding.match_cast || constant_bytes(binding.var->annotation) < 0) {
      return std::nullopt;
    }
    const auto& call = *as<CallNode>(binding.value);
    Known result;
    // The keys of the arguments, and the rest as printed.
    auto add = [&](const Expr& arg) {
      const auto* var = as<VarNode>(arg);
      if (auto value = var ? values.find(var) : values.end(); value != values.end()) {
        result.key += value->second.key + ",";
        result.computed_of.push_back(var);
        return true;
      }
      if (const auto* constant = as<ConstantNode>(arg)) {
        result.key += content_hash(constant->value) + ",";
        return true;
      }
      const auto* shape = as<ShapeNode>(arg);
      if (!shape) return false;
      for (const PrimExpr& dim : shape->dims) {
        if (!dim.is_int()) return false;
      }
      result.key += text::print(arg) + ",";
      return true;
    };
    result.key = "(";
    for (const Expr& arg : call.args) {
      if (const auto* tuple = as<TupleNode>(arg)) {
        for (const Expr& field : tuple->fields) {
          if (!add(field)) return std::nullopt;
        }
        result.key += ";";
      } else if (!add(arg)) {
        return std::nullopt;
      }
    }
    if (result.computed_of.empty()) return std::nullopt;
    result.key += text::print(make_call(call.callee, {}, call.attrs, call.annotations)) + ")";
    result.key = short_key(result.key);
    return result;
  }

  // A number for the text, so that keys of derived values do not grow.
  std::string short_key(const std::string& text) {
    return "#" + std::to_string(
                     numbers_of_keys_.try_emplace(text, numbers_of_keys_.size()).first->second);
  }

  // Whether a binding's value is larger than the weights it is computed from.
  bool may_grow(const Variable& var, const KnownValues& values) const {
    int64_t left = constant_bytes(var->annotation);
    std::unordered_set<const VarNode*> seen{var.get()};
    std::set<std::string> weights;
    std::vector<const VarNode*> pending{var.get()};
    while (left > 0 && !pending.empty()) {
      const Known& value = values.at(pending.back());
      pending.pop_back();
      if (!value.weight.empty() && weights.insert(value.weight).second) {
        left -= constant_bytes(weights_.at(value.weight)->annotation);
      }
      for (const VarNode* one : value.computed_of) {
        if (seen.insert(one).second) pending.push_back(one);
      }
    }
    return left > 0;
  }

  FunctionRef rewrite(const std::string& name, const Function& function) {
    KnownValues values;
    std::unordered_map<const VarNode*, const Binding*> made;
    for (const VarNode* param : parameters_.of(function)) {
      values[param] = {short_key(param->name), param->name, {}};
    }
    const SeqNode& body = body_of(function);
    for (const Block& block : body.blocks) {
      for (const Binding& binding : block.bindings) {
        std::optional<Known> value = known_call(binding, values);
        if (!value) continue;
        made[binding.var.get()] = &binding;
        values[binding.var.get()] = std::move(*value);
      }
    }
    // Known values that other code uses are moved.
    std::unordered_set<const VarNode*> wanted;
    auto use = [&](const Expr& e) {
      if (const auto* var = as<VarNode>(e); var && made.contains(var)) wanted.insert(var);
    };
    for (const Block& block : body.blocks) {
      for (const Binding& binding : block.bindings) {
        if (!made.contains(binding.var.get())) visit(binding.value, use);
      }
    }
    visit(body.result, use);
    // Known values that stay need their operands, which are bound before them.
    auto moves = [&](const Binding& binding) {
      return !is_reshape(binding.value) && !may_grow(binding.var, values);
    };
    std::vector<const Binding*> order;
    for (const Block& block : body.blocks) {
      for (const Binding& binding : block.bindings) {
        if (made.contains(binding.var.get())) order.push_back(&binding);
      }
    }
    for (size_t i = order.size(); i-- > 0;) {
      if (wanted.contains(order[i]->var.get()) && !moves(*order[i])) visit(order[i]->value, use);
    }
    ExprMap replaced;
    for (const Binding* one : order) {
      const Binding& binding = *one;
      const VarNode* var = binding.var.get();
      const Known& value = values.at(var);
      if (!wanted.contains(var) || !moves(binding)) continue;
      const size_t number = result_of(value, binding, values, made);
      // A parameter of this function, made once.
      std::vector<Variable>& mine = params_[name];
      if (mine.size() <= number) mine.resize(number + 1);
      if (!mine[number]) mine[number] = parameter(number);
      replaced[var] = mine[number];
    }
    if (replaced.empty()) return std::make_shared<Function>(function);
    // Later uses read the parameter; bindings that become unused are dead code.
    std::vector<Block> blocks;
    for (const Block& block : body.blocks) {
      Block copy = block;
      copy.bindings.clear();
      for (const Binding& binding : block.bindings) {
        if (replaced.contains(binding.var.get())) continue;
        Binding kept = binding;
        kept.value = substitute(binding.value, replaced);
        copy.bindings.push_back(std::move(kept));
      }
      if (!copy.bindings.empty()) blocks.push_back(std::move(copy));
    }
    return with_body(function, make_seq(std::move(blocks), substitute(body.result, replaced)));
  }

  // Index of this value among the results of `prepare`; adds it if it is new.
  size_t result_of(const Known& value, const Binding& binding, const KnownValues& values,
                   const std::unordered_map<const VarNode*, const Binding*>& made) {
    auto found = numbers_.find(value.key);
    if (found != numbers_.end()) return found->second;
    results_.push_back(compute(binding, values, made));
    numbers_[value.key] = results_.size() - 1;
    return results_.size() - 1;
  }

  // The variable of `prepare` for a binding's value, emitted after its operands.
  Variable compute(const Binding& binding, const KnownValues& values,
                   const std::unordered_map<const VarNode*, const Binding*>& made) {
    std::vector<const Binding*> pending{&binding};
    while (!pending.empty()) {
      const Binding& next = *pending.back();
      const Known& value = values.at(next.var.get());
      const size_t before = pending.size();
      for (size_t i = value.computed_of.size(); i-- > 0;) {
        auto operand = made.find(value.computed_of[i]);
        if (operand != made.end() && !computed_.contains(values.at(operand->first).key)) {
          pending.push_back(operand->second);
        }
      }
      if (pending.size() > before) continue;
      pending.pop_back();
      if (!computed_.contains(value.key)) add_computed(next, values, made);
    }
    return computed_.at(values.at(binding.var.get()).key);
  }

  void add_computed(const Binding& binding, const KnownValues& values,
                    const std::unordered_map<const VarNode*, const Binding*>& made) {
    auto argument = [&](const Expr& arg) -> Expr {
      const auto* var = as<VarNode>(arg);
      if (!var) return arg;
      return made.contains(var) ? computed_.at(values.at(var).key) : weight_variable(var->name);
    };
    const auto& call = *as<CallNode>(binding.value);
    std::vector<Expr> args;
    for (const Expr& arg : call.args) {
      if (const auto* tuple = as<TupleNode>(arg)) {
        std::vector<Expr> fields;
        for (const Expr& field : tuple->fields) fields.push_back(argument(field));
        args.push_back(make_tuple(std::move(fields)));
      } else {
        args.push_back(argument(arg));
      }
    }
    Variable var = make_variable(binding.var->name, binding.var->annotation);
    block_.bindings.push_back(
        {var, make_call(call.callee, std::move(args), call.attrs, call.annotations), nullptr,
         binding.origin});
    computed_[values.at(binding.var.get()).key] = var;
  }

  Variable weight_variable(const std::string& name) {
    auto [known, fresh] = inputs_.emplace(name, nullptr);
    if (fresh) known->second = make_variable(name, weights_.at(name)->annotation);
    return known->second;
  }

  FunctionRef prepare() {
    std::vector<Variable> params;
    for (const std::string& name : weight_names(module_)) {
      params.push_back(weights_.contains(name)
                           ? weight_variable(name)
                           : make_variable(name, tensor_annotation_ndim(kUnknownNdim, {})));
    }
    std::vector<Expr> fields;
    std::vector<Annotation> annotations;
    for (const Variable& result : results_) {
      fields.push_back(result);
      annotations.push_back(result->annotation);
    }
    return make_function(std::move(params), make_seq({block_}, make_tuple(std::move(fields))),
                         tuple_annotation(std::move(annotations)));
  }

  const Module& module_;
  const WeightParameters parameters_;
  std::map<std::string, Variable> weights_;        // parameters of functions, by name
  std::vector<Variable> results_;                  // of `prepare`
  std::map<std::string, size_t> numbers_of_keys_;  // texts of keys
  std::map<std::string, size_t> numbers_;          // indices of results, by key
  std::map<std::string, Variable> computed_, inputs_;
  std::map<std::string, std::vector<Variable>> params_;  // the added ones, by function and result
  Block block_;
};

}  // namespace

Module lift_preparation(const Module& module) { return PreparationLifter(module).run(); }

}  // namespace tapml::passes
