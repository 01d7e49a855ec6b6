#include "passes/legalize.h"

#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "passes/kernel.h"
#include "relax/kernel_call.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

bool is_view(const std::string& op) { return op == "reshape"; }

namespace {

// One operator call cut out of its function.
class Outliner {
 public:
  explicit Outliner(const CallNode& call) : call_(call), info_(op::view_call(call).info) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      const char* name = i < info_.args.size() ? info_.args[i].name : "arg";
      add_argument(call.args[i], name);
    }
  }

  // Adds the kernel and returns the call that replaces the operator's.
  Expr outline(Module& module, const Annotation& result) {
    Expr spec_call = make_call(call_.callee, spec_args_, call_.attrs, {});
    const auto& node = *as<CallNode>(spec_call);
    // Loops follow one operand's dimensions: the others' must be the same, or they would be left.
    op::CallView strict = op::view_call(node);
    strict.strict = true;
    info_.deduce(strict);
    tir::PrimFuncRef implementation = info_.legalize(op::view_call(node));
    std::vector<Variable> params = params_;
    std::vector<Var> extra = underived_scalars(*implementation);
    Dims symbols;
    if (!extra.empty()) {
      params.push_back(make_variable("s", shape_annotation(Dims(extra.begin(), extra.end()))));
      for (const Var& var : extra) symbols.push_back(caller_symbol(var));
    }
    Annotation spec_result = op::deduce(node);
    Variable value = make_variable("y", spec_result);
    Block block{.dataflow = true, .bindings = {{value, spec_call, nullptr, {}}}};
    AttrMap attrs;
    if (!info_.inout.empty()) attrs[kInoutAttr] = info_.inout;
    FunctionRef spec =
        make_function(params, make_seq({block}, value), spec_result, std::move(attrs));
    std::string name = add_kernel(module, spec, implementation);
    std::vector<Expr> args = {make_global(name), make_tuple(tensors_)};
    if (!symbols.empty()) args.push_back(make_shape(symbols));
    std::vector<Annotation> outputs;
    if (const auto* tuple = as_tuple(result)) {
      outputs = tuple->fields;
    } else {
      outputs = {result};
    }
    AttrMap call_attrs;
    if (!info_.inout.empty()) call_attrs[kInoutAttr] = info_.inout;
    return make_op_call(info_.inout.empty() ? "call_tir" : "call_tir_inplace", std::move(args),
                        std::move(call_attrs), std::move(outputs));
  }

 private:
  void add_argument(const Expr& arg, const std::string& name) {
    if (const auto* tuple = as<TupleNode>(arg)) {
      std::vector<Expr> fields;
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        fields.push_back(add_tensor(tuple->fields[i], name + std::to_string(i)));
      }
      spec_args_.push_back(make_tuple(std::move(fields)));
    } else if (const auto* shape = as<ShapeNode>(arg)) {
      Dims dims;
      for (const PrimExpr& dim : shape->dims) dims.push_back(spec_expr(dim));
      spec_args_.push_back(make_shape(std::move(dims)));
    } else if (const auto* prim = as<PrimValueNode>(arg)) {
      spec_args_.push_back(make_prim_value(spec_expr(prim->value)));
    } else {
      spec_args_.push_back(add_tensor(arg, name));
    }
  }

  Expr add_tensor(const Expr& arg, const std::string& name) {
    Annotation annotation = annotation_of(arg);
    const auto* tensor = as_tensor(annotation);
    if (!tensor || !tensor->shape || !tensor->dtype) {
      throw_user("an argument of " + std::string(info_.name) + " has no known shape and dtype",
                 "argument " + name, "Tensor(shape, dtype)", to_string(annotation),
                 "a match_cast before the call gives it one");
    }
    Dims dims;
    for (const PrimExpr& dim : *tensor->shape) dims.push_back(spec_expr(dim));
    Variable param = make_variable(name, tensor_annotation(std::move(dims), tensor->dtype));
    params_.push_back(param);
    tensors_.push_back(arg);
    return param;
  }

  // The expression over the spec's own variables.
  PrimExpr spec_expr(const PrimExpr& expr) {
    for (const Var& var : free_vars(expr)) {
      if (to_spec_.contains(var.get())) continue;
      Var own = make_var(var->name, var.dtype());
      to_spec_[var.get()] = own;
      to_caller_[own.get()] = var;
    }
    return tapml::substitute(expr, to_spec_);
  }

  PrimExpr caller_symbol(const Var& var) const {
    auto it = to_caller_.find(var.get());
    if (it == to_caller_.end()) throw_internal("unknown scalar " + var->name, info_.name);
    return it->second;
  }

  const CallNode& call_;
  const op::OperatorInfo& info_;
  std::vector<Variable> params_;
  std::vector<Expr> tensors_;
  std::vector<Expr> spec_args_;
  VarMap to_spec_, to_caller_;
};

Expr legalize_value(Module& module, const Binding& binding) {
  const std::string& name = called_operator(binding.value);
  if (name.empty() || is_view(name) || !op::find_operator(name)) return binding.value;
  return Outliner(*as<CallNode>(binding.value)).outline(module, binding.var->annotation);
}

Expr legalize_body(Module& module, const Expr& body) {
  const auto* seq = as<SeqNode>(body);
  if (!seq) return body;
  std::vector<Block> blocks;
  for (const Block& block : seq->blocks) {
    Block result{.dataflow = block.dataflow, .bindings = {}};
    for (const Binding& binding : block.bindings) {
      Binding copy = binding;
      if (const auto* branch = as<IfNode>(binding.value)) {
        auto node = std::make_shared<IfNode>(*branch);
        node->then_branch = legalize_body(module, branch->then_branch);
        node->else_branch = legalize_body(module, branch->else_branch);
        copy.value = node;
      } else {
        copy.value = legalize_value(module, binding);
      }
      result.bindings.push_back(std::move(copy));
    }
    blocks.push_back(std::move(result));
  }
  return make_seq(std::move(blocks), seq->result);
}

}  // namespace

Module legalize(const Module& module) {
  Module result = module;
  for (const auto& [name, function] : module.functions) {
    const Function* source = as_relax_function(function.get());
    if (!source || is_kernel(source)) continue;
    auto copy = std::make_shared<Function>(*source);
    copy->body = legalize_body(result, source->body);
    result.functions[name] = copy;
  }
  return result;
}

}  // namespace tapml::passes
