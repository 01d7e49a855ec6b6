#include "passes/fold_constants.h"

#include <optional>

#include "op/operator.h"
#include "passes/kernel.h"
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

// The value of one operator call on constants; null when it cannot or should not be folded.
Expr fold(const Expr& value, const Annotation& annotation) {
  const op::OperatorInfo* info = op::find_operator(called_operator(value));
  const auto* result = as_tensor(annotation);
  if (!info || !info->inout.empty() || info->outputs != 1 || !result || !result->shape ||
      !result->dtype) {
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

// Folds the bindings of a sequence and of the sequences in it; `folded` holds what is known around
// them.
class Folder {
 public:
  Expr run(const Expr& body) {
    if (const auto* branch = as<IfNode>(body)) {
      auto node = std::make_shared<IfNode>(*branch);
      node->condition = substitute(branch->condition, folded_);
      node->then_branch = run(branch->then_branch);
      node->else_branch = run(branch->else_branch);
      return node;
    }
    if (const auto* lambda = as<FunctionNode>(body)) {
      auto function = std::make_shared<Function>(*lambda->function);
      function->body = run(function->body);
      auto node = std::make_shared<FunctionNode>();
      node->function = std::move(function);
      return node;
    }
    const auto* seq = as<SeqNode>(body);
    if (!seq) return substitute(body, folded_);
    std::vector<Block> blocks;
    for (const Block& block : seq->blocks) {
      Block copy{.dataflow = block.dataflow, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        Binding kept = binding;
        kept.value = run(binding.value);
        if (!kept.match_cast) {
          if (Expr constant = fold(kept.value, kept.var->annotation)) {
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
  ExprMap folded_;
};

}  // namespace

Module fold_constants(const Module& module) {
  Module result = module;
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || is_kernel(source)) continue;
    auto copy = std::make_shared<Function>(*source);
    copy->body = Folder().run(source->body);
    result.functions[name] = copy;
  }
  return result;
}

}  // namespace tapml::passes
