#include "passes/outline_group.h"

#include <algorithm>
#include <set>

#include "relax/rewrite.h"
#include "relax/symbol_ranges.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool is_known_shape(const Expr& operand) {
  const auto* shape =
      operand->kind == relax::ExprKind::kVar ? as_shape(as<VarNode>(operand)->annotation) : nullptr;
  return shape && shape->dims;
}

bool is_known_tensor(const Expr& operand) {
  if (operand->kind == relax::ExprKind::kConstant) return true;
  const auto* tensor = as_tensor(as<VarNode>(operand)->annotation);
  return tensor && tensor->shape && tensor->dtype;
}

// Calls f on the variables and constants among a call's operands, in order.
void visit_operands(const Expr& value, const std::function<void(const Expr&)>& f) {
  for (const Expr& arg : as<CallNode>(value)->args) {
    visit(arg, [&](const Expr& e) {
      if (e->kind == relax::ExprKind::kVar || e->kind == relax::ExprKind::kConstant) f(e);
    });
  }
}

class GroupOutliner {
 public:
  GroupOutliner(Module& module, const Block& block, const std::vector<size_t>& members, int& groups)
      : module_(module), block_(block), members_(members), groups_(groups) {}

  Binding run() {
    arguments_ = group_inputs(block_, members_);
    add_symbols();
    add_params();
    Binding result = block_.bindings[members_.back()];
    Block body{.dataflow = true, .bindings = {}};
    for (size_t member : members_) {
      const Binding& binding = block_.bindings[member];
      Variable var =
          make_variable("v" + std::to_string(body.bindings.size()),
                        substitute(binding.var->annotation, to_own_), member != members_.back());
      body.bindings.push_back({var, own_call(*as<CallNode>(binding.value)), nullptr, {}});
      values_[binding.var.get()] = var;
      result.origin = merge_origins(result.origin, binding.origin);
    }
    Expr last = body.bindings.back().var;
    FunctionRef fused = make_function(params_, make_seq({std::move(body)}, last),
                                      annotation_of(last), {{"fused", true}});
    std::string name;
    do {
      name = groups_ == 0 ? "fused" : "fused_" + std::to_string(groups_);
      ++groups_;
    } while (module_.find(name));
    module_.functions[name] = fused;
    result.value = make_call(make_global(name), arguments_);
    return result;
  }

 private:
  // The caller's symbolic variables, and the function's own in their place.
  void add_symbols() {
    for (const Expr& arg : arguments_) relax::collect_vars(annotation_of(arg), symbols_);
    for (size_t member : members_) {
      const Binding& binding = block_.bindings[member];
      relax::collect_vars(binding.var->annotation, symbols_);
      for (const Expr& arg : as<CallNode>(binding.value)->args) {
        visit(arg, [&](const Expr& e) {
          if (e->kind == relax::ExprKind::kShape || e->kind == relax::ExprKind::kPrimValue ||
              is_known_shape(e)) {
            relax::collect_vars(annotation_of(e), symbols_);
          }
        });
      }
    }
    for (const Var& var : symbols_) to_own_[var.get()] = make_var(var->name, var.dtype());
  }

  void add_params() {
    std::vector<Var> derived;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Annotation annotation = substitute(annotation_of(arguments_[i]), to_own_);
      params_.push_back(make_variable("x" + std::to_string(i), annotation));
      if (const auto* var = as<VarNode>(arguments_[i])) values_[var] = params_.back();
      for (const PrimExpr& dim : *as_tensor(annotation)->shape) {
        if (dim.is_var()) derived.push_back(dim);
      }
    }
    Dims own, caller;
    for (const Var& var : symbols_) {
      const PrimExpr& mine = to_own_.at(var.get());
      if (std::any_of(derived.begin(), derived.end(),
                      [&](const Var& known) { return known.same_as(mine); })) {
        continue;
      }
      own.push_back(mine);
      caller.push_back(var);
    }
    if (!own.empty()) {
      params_.push_back(make_variable("s", shape_annotation(own)));
      arguments_.push_back(make_shape(caller));
    }
    std::vector<Var> made;
    for (const Var& var : symbols_) made.push_back(to_own_.at(var.get()));
    state_least_values(made, annotations_of(params_));
  }

  Expr own_call(const CallNode& call) {
    std::vector<Expr> args;
    for (const Expr& arg : call.args) args.push_back(own_operand(arg));
    return substitute_symbols(
        substitute(make_call(call.callee, std::move(args), call.attrs, call.annotations), values_),
        to_own_);
  }

  // Constants become parameters; variables that hold shapes are replaced by the shapes.
  Expr own_operand(const Expr& operand) {
    if (const auto* tuple = as<TupleNode>(operand)) {
      std::vector<Expr> fields;
      for (const Expr& field : tuple->fields) fields.push_back(own_operand(field));
      return make_tuple(std::move(fields));
    }
    if (is_known_shape(operand)) return make_shape(*as_shape(annotation_of(operand))->dims);
    if (operand->kind != relax::ExprKind::kConstant) return operand;
    while (arguments_[next_constant_]->kind != relax::ExprKind::kConstant) ++next_constant_;
    return params_[next_constant_++];
  }

  Module& module_;
  const Block& block_;
  const std::vector<size_t>& members_;
  int& groups_;
  std::vector<Expr> arguments_;
  std::vector<Variable> params_;
  std::vector<Var> symbols_;
  VarMap to_own_;
  ExprMap values_;
  size_t next_constant_ = 0;
};

}  // namespace

std::vector<Expr> group_inputs(const Block& block, const std::vector<size_t>& members) {
  std::set<const VarNode*> own, seen;
  for (size_t member : members) own.insert(block.bindings[member].var.get());
  std::vector<Expr> inputs;
  for (size_t member : members) {
    visit_operands(block.bindings[member].value, [&](const Expr& operand) {
      const auto* var = as<VarNode>(operand);
      if (var && (own.contains(var) || !seen.insert(var).second)) return;
      if (is_known_shape(operand)) return;
      inputs.push_back(is_known_tensor(operand) ? operand : nullptr);
    });
  }
  return inputs;
}

Binding outline_group(Module& module, const Block& block, const std::vector<size_t>& members,
                      int& groups) {
  return GroupOutliner(module, block, members, groups).run();
}

}  // namespace tapml::passes
