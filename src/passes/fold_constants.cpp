#include "passes/fold_constants.h"

#include <optional>
#include <set>

#include "op/operator.h"
#include "passes/graph_functions.h"
#include "relax/rewrite.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

std::optional<Shape> static_shape(const Dims& dims) {
  Shape shape;
  for (const PrimExpr& dim : dims) {
    if (!dim.is_int()) return std::nullopt;
    shape.push_back(dim->int_value);
  }
  return shape;
}

}  // namespace

Expr folded_value(const Expr& value, const Annotation& annotation) {
  const op::OperatorInfo* info = op::called_operator_info(value);
  const auto* result = as_tensor(annotation);
  if (!info || info->expands || !info->inout.empty() || info->outputs != 1 || !result ||
      !result->shape || !result->dtype) {
    return nullptr;
  }
  std::optional<Shape> shape = static_shape(*result->shape);
  if (!shape) return nullptr;
  auto bytes = checked_byte_count(*result->dtype, *shape);
  if (!bytes || *bytes > kFoldBytes) {
    return nullptr;
  }
  const auto& call = *as<CallNode>(value);
  std::vector<op::RefTensor> tensors;
  std::vector<std::optional<Shape>> shapes;  // of arguments that are shapes
  auto add_tensor = [&](const Expr& arg) {
    const auto* constant = as<ConstantNode>(arg);
    if (!constant) return false;
    tensors.push_back(op::RefTensor::from(constant->value));
    shapes.emplace_back();
    return true;
  };
  for (const Expr& arg : call.args) {
    if (const auto* dims = as<ShapeNode>(arg)) {
      shapes.push_back(static_shape(dims->dims));
      if (!shapes.back()) return nullptr;
      tensors.emplace_back();
    } else if (const auto* tuple = as<TupleNode>(arg)) {
      for (const Expr& field : tuple->fields) {
        if (!add_tensor(field)) return nullptr;
      }
    } else if (!add_tensor(arg)) {
      return nullptr;
    }
  }
  std::vector<op::RefArg> args;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (shapes[i]) {
      args.push_back({nullptr, *shapes[i]});
    } else {
      args.push_back({&tensors[i], {}});
    }
  }
  std::vector<op::RefTensor> outputs = {op::RefTensor::zeros(*result->dtype, *shape)};
  info->reference(op::view_call(call).attrs, args, outputs);
  return make_constant(outputs[0].to_host());
}

bool has_no_effects(const Function& function) {
  bool pure = function.pure;
  visit(function.body, [&](const Expr& expr) {
    const auto* lambda = as<FunctionNode>(expr);
    pure = pure && (!lambda || lambda->function->pure);
  });
  return pure;
}

std::set<const VarNode*> held_variables(const Function& function, bool pure) {
  std::set<const VarNode*> held;
  auto hold = [&](const Expr& expr) {
    visit(expr, [&](const Expr& part) {
      if (const auto* var = as<VarNode>(part)) held.insert(var);
    });
  };
  pure = pure && has_no_effects(function);
  visit(function.body, [&](const Expr& expr) {
    const auto* call = as<CallNode>(expr);
    if (const auto* seq = as<SeqNode>(expr); seq && !pure) {
      hold(seq->result);
      for (const Block& block : seq->blocks) {
        for (const Binding& binding : block.bindings) {
          if (as<IfNode>(binding.value) || as<FunctionNode>(binding.value)) continue;
          const op::OperatorInfo* info = op::called_operator_info(binding.value);
          if (!info || !info->pure) hold(binding.value);
        }
      }
    }
    if (!call) return;
    if (const op::OperatorInfo* info = op::called_operator_info(expr)) {
      for (int64_t index : info->inout) {
        if (index >= 0 && static_cast<size_t>(index) < call->args.size()) {
          hold(call->args[static_cast<size_t>(index)]);
        }
      }
    }
    if (called_operator(expr) == "call_tir_inplace") hold(call->args.at(1));
  });
  return held;
}

namespace {

// Folds the bindings of a sequence and of nested sequences; `folded` holds the constants known in
// the enclosing scope.
class Folder {
 public:
  explicit Folder(std::set<const VarNode*> held) : held_(std::move(held)) {}

  Expr run(const Expr& body) {
    if (Expr mapped = map_bodies(body, [&](const Expr& inner) { return run(inner); }))
      return mapped;
    const auto* seq = as<SeqNode>(body);
    if (!seq) return substitute(body, folded_);
    std::vector<Block> blocks;
    for (const Block& block : seq->blocks) {
      Block copy{.dataflow = block.dataflow, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        Binding kept = binding;
        kept.value = run(binding.value);
        if (!kept.match_cast && !held_.contains(kept.var.get())) {
          if (Expr constant = folded_value(kept.value, kept.var->annotation)) {
            kept.value = constant;
            folded_[kept.var.get()] = constant;
          }
        }
        copy.bindings.push_back(std::move(kept));
      }
      blocks.push_back(std::move(copy));
    }
    return make_seq(std::move(blocks), substitute(seq->result, folded_));
  }

 private:
  const std::set<const VarNode*> held_;
  ExprMap folded_;
};

}  // namespace

Module fold_constants(const Module& module) {
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    if (is_fused(*source)) continue;
    result.functions[name] = with_body(*source, Folder(held_variables(*source)).run(source->body));
  }
  return result;
}

}  // namespace tapml::passes
