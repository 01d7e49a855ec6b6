#include "passes/legalize.h"

#include <algorithm>

#include "build/block_builder.h"
#include "ir/exceptions.h"
#include "op/operand_checks.h"
#include "passes/check_consumption.h"
#include "passes/decompose.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/outline_library.h"
#include "passes/outline_program.h"
#include "passes/shape_check.h"
#include "relax/check_location.h"
#include "relax/kernel_call.h"
#include "relax/symbol_ranges.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

bool is_view(const std::string& op) { return op == "reshape"; }

namespace {

// Outlines one operator call from its function.
class Outliner {
 public:
  Outliner(const CallNode& call, std::string place)
      : call_(call), place_(std::move(place)), info_(op::view_call(call).info) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      const char* name = i < info_.args.size() ? info_.args[i].name : "arg";
      add_argument(call.args[i], name);
    }
    state_ranges();
  }

  // Whether the result is a tuple of one tensor.
  static bool is_single(const Annotation& result) {
    const auto* tuple = as_tuple(result);
    return tuple && tuple->fields.size() == 1;
  }

  // Adds the kernel and returns the call that replaces the operator call; where is_single(result),
  // the call returns the tensor, not the tuple.
  Expr outline(Module& module, const Annotation& result) {
    Expr spec_call = make_call(call_.callee, spec_args_, call_.attrs, {});
    const auto& node = *as<CallNode>(spec_call);
    tir::PrimFuncRef implementation = info_.legalize(op::view_call(node));
    std::vector<Variable> params = params_;
    std::vector<Var> extra = underived_scalars(*implementation);
    Dims symbols;
    if (!extra.empty()) {
      params.push_back(make_variable("s", shape_annotation(Dims(extra.begin(), extra.end()))));
      for (const Var& var : extra) symbols.push_back(caller_symbol(var));
    }
    spec_call = with_known_symbols(node, extra);
    Annotation spec_result = op::deduce(*as<CallNode>(spec_call));
    Variable value = make_variable("y", spec_result);
    Block block{.dataflow = true, .bindings = {{value, spec_call, nullptr, {}}}};
    if (is_single(spec_result)) {
      // call_tir with one output returns it bare, and so does the spec.
      spec_result = as_tuple(spec_result)->fields[0];
      Variable only = make_variable("y0", spec_result);
      block.bindings.push_back({only, make_get_item(value, 0), nullptr, {}});
      value = only;
    }
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
  // Variables whose values are given neither by a tensor's shape nor by a scalar of the loops do
  // not affect the result (the length of arange(1, n) with step -1): they become 1.
  Expr with_known_symbols(const CallNode& call, const std::vector<Var>& extra) const {
    std::vector<Var> used, given = extra;
    for (const Variable& param : params_) collect_vars(param->annotation, given);
    for (const Expr& arg : call.args) {
      if (as<ShapeNode>(arg) || as<PrimValueNode>(arg)) collect_vars(annotation_of(arg), used);
    }
    VarMap unknown;
    for (const Var& var : used) {
      const bool known = std::any_of(given.begin(), given.end(),
                                     [&](const Var& other) { return other.same_as(var); });
      if (!known) unknown.emplace(var.get(), PrimExpr(1));
    }
    std::vector<Expr> args = call.args;
    for (Expr& arg : args) {
      if (unknown.empty()) break;
      if (const auto* shape = as<ShapeNode>(arg)) {
        Dims dims;
        for (const PrimExpr& dim : shape->dims) dims.push_back(tapml::substitute(dim, unknown));
        arg = make_shape(std::move(dims));
      } else if (const auto* prim = as<PrimValueNode>(arg)) {
        arg = make_prim_value(tapml::substitute(prim->value, unknown));
      }
    }
    return make_call(call.callee, std::move(args), call.attrs, call.annotations);
  }

  void add_argument(const Expr& arg, const std::string& name) {
    if (const auto* tuple = as<TupleNode>(arg)) {
      std::vector<Expr> fields;
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        const std::string number = std::to_string(i);
        fields.push_back(add_tensor(tuple->fields[i], name + number, name + "[" + number + "]"));
      }
      spec_args_.push_back(make_tuple(std::move(fields)));
    } else if (const auto* shape = as<ShapeNode>(arg)) {
      Dims dims;
      for (const PrimExpr& dim : shape->dims) dims.push_back(spec_expr(dim));
      spec_args_.push_back(make_shape(std::move(dims)));
    } else if (const auto* prim = as<PrimValueNode>(arg)) {
      spec_args_.push_back(make_prim_value(spec_expr(prim->value)));
    } else if (const Annotation annotation = annotation_of(arg);
               as_shape(annotation) && as_shape(annotation)->dims) {
      // A variable: its annotation gives its value.
      Dims dims;
      for (const PrimExpr& dim : *as_shape(annotation)->dims) dims.push_back(spec_expr(dim));
      spec_args_.push_back(make_shape(std::move(dims)));
    } else if (as_prim(annotation) && as_prim(annotation)->value) {
      spec_args_.push_back(make_prim_value(spec_expr(as_prim(annotation)->value)));
    } else {
      spec_args_.push_back(add_tensor(arg, name, name));
    }
  }

  // Variables of the spec that are not a tensor dimension by themselves are passed as a shape, not
  // solved for.
  void state_ranges() const {
    std::vector<Var> made;
    for (const auto& [caller, own] : to_spec_) made.push_back(own);
    std::vector<Annotation> annotations = annotations_of(params_);
    annotations.push_back(shape_annotation(made));
    state_least_values(made, annotations);
  }

  // `written`: the operand's name in messages.
  Expr add_tensor(const Expr& arg, const std::string& name, const std::string& written) {
    Annotation annotation = annotation_of(arg);
    const auto* tensor = as_tensor(annotation);
    if (!tensor || !tensor->shape || !tensor->dtype) {
      throw_user("an argument of " + std::string(info_.name) + " has no known shape and dtype",
                 "operand " + written + " of " + info_.name + " in " + place_,
                 "Tensor(shape, dtype)", to_string(annotation),
                 "a match_cast before the call gives it one");
    }
    Dims dims;
    for (const PrimExpr& dim : *tensor->shape) dims.push_back(spec_expr(dim));
    Variable param = make_variable(name, tensor_annotation(std::move(dims), tensor->dtype));
    params_.push_back(param);
    tensors_.push_back(arg);
    return param;
  }

  // The expression in terms of the spec's variables.
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
  const std::string place_;  // "binding y of main"
  const op::OperatorInfo& info_;
  std::vector<Variable> params_;
  std::vector<Expr> tensors_;
  std::vector<Expr> spec_args_;
  VarMap to_spec_, to_caller_;
};

// The call in `binding` preceded by checks: its loops follow the dimensions of one operand, so the
// others must be equal.
Expr with_operand_checks(const Binding& binding, bool dataflow, std::vector<Binding>& before) {
  return op::check_operands(
      binding.value,
      [&](const op::Operand& operand, const Annotation& expected) {
        const std::string op = operand.info.name;
        std::string name = operand.argument_name();
        if (operand.field >= 0) name += std::to_string(operand.field);
        return check_shape(operand.value, expected, name + "_of_" + op,
                           operand_note(operand.name(), op, binding), dataflow, before);
      },
      [&](const op::OperatorInfo& info, const op::OpenEquality& open) {
        Variable checked = make_variable("checked_for_" + std::string(info.name),
                                         shape_annotation({open.a}), dataflow);
        before.push_back({checked,
                          make_shape({open.b}),
                          shape_annotation({open.a}),
                          {},
                          call_note(open.what, info.name, binding)});
      });
}

// Appends the replacement for `binding`: checks, and a kernel call. `views`: also for operators
// that compute nothing, inside a future kernel. `function`: its name in messages.
void legalize_binding(Module& module, const std::string& function, Binding binding, bool dataflow,
                      bool views, std::vector<Binding>& bindings) {
  const auto* call = as<CallNode>(binding.value);
  if (binding.match_cast || !call) return bindings.push_back(std::move(binding));
  std::vector<Binding> checks;
  const std::string& name = called_operator(binding.value);
  Variable var = binding.var;
  Annotation made = var->annotation;
  CheckNote result_note;
  if (calls_program(module, *call)) {
    std::string program = call_tir_callee(*call);
    result_note = check_note(binding);
    binding.value = outline_program(module, binding, dataflow, checks, made);
    if (!is_shape_certain(made, var->annotation, "result of @" + program)) {
      // The program determines the output annotation; a check against the caller's follows.
      binding.var = make_variable("result_of_" + program, made, dataflow);
    }
  } else if (calls_library(*call)) {
    binding.value = outline_library(module, *call);
  } else if (op::called_operator_info(binding.value)) {
    Expr checked = with_operand_checks(binding, dataflow, checks);
    if (is_view(name) && !views) {
      binding.value = checked;
    } else {
      const auto& operation = *as<CallNode>(checked);
      // A variable's annotation may leave the number of tensors open.
      const Annotation result = var->annotation->kind == AnnotationKind::kObject
                                    ? op::deduce(operation)
                                    : var->annotation;
      binding.value =
          Outliner(operation, operation_location(binding, function)).outline(module, result);
      if (Outliner::is_single(result)) {
        Variable only = make_variable(var->name + "_0", as_tuple(result)->fields[0], dataflow);
        checks.push_back({only, binding.value, nullptr, binding.origin, written_note(binding)});
        binding.value = make_tuple({only});
      }
    }
  }
  for (Binding& check : checks) {
    check.origin = binding.origin;
    bindings.push_back(std::move(check));
  }
  bindings.push_back(binding);
  if (binding.var != var) {
    bindings.push_back({var, binding.var, var->annotation, binding.origin, result_note});
  }
}

Expr legalize_body(Module& module, const std::string& function, const Expr& body, bool views) {
  const auto* seq = as<SeqNode>(body);
  if (!seq) return body;
  std::vector<Block> blocks;
  for (const Block& block : seq->blocks) {
    Block result{.dataflow = block.dataflow, .bindings = {}};
    for (const Binding& binding : block.bindings) {
      const bool is_lambda = as<FunctionNode>(binding.value) != nullptr;
      if (!is_lambda && !as<IfNode>(binding.value)) {
        legalize_binding(module, function, binding, block.dataflow, views, result.bindings);
        continue;
      }
      const std::string inside = is_lambda ? function + "." + written_name(binding) : function;
      Binding copy = binding;
      copy.value = map_bodies(binding.value, [&](const Expr& inner) {
        return legalize_body(module, inside, inner, views);
      });
      result.bindings.push_back(std::move(copy));
    }
    blocks.push_back(std::move(result));
  }
  return make_seq(std::move(blocks), seq->result);
}

}  // namespace

Expr outline_operator(Module& module, const Binding& binding) {
  return Outliner(*as<CallNode>(binding.value), binding_location(binding))
      .outline(module, binding.var->annotation);
}

Module legalize(const Module& original) {
  const Module module = decompose(original);
  check_consumption(module);
  Module result = module;
  for (const auto& [name, source] : graph_functions(module)) {
    const bool fused = is_fused(*source);
    result.functions[name] = with_body(*source, legalize_body(result, name, source->body, fused));
  }
  return result;
}

}  // namespace tapml::passes
