#include "passes/outline_library.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "op/operator.h"
#include "passes/kernel.h"
#include "relax/kernel_call.h"
#include "relax/symbol_ranges.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// `hint`: how to state the shape and dtype.
const TensorAnnotation& known(const Annotation& annotation, const std::string& routine,
                              const std::string& what, const char* hint) {
  const auto* tensor = as_tensor(annotation);
  if (!tensor || !tensor->shape || !tensor->dtype) {
    throw_user(what + " of library routine " + routine + " has no known shape and dtype",
               "call of \"" + routine + "\"", "Tensor(shape, dtype)", to_string(annotation), hint);
  }
  return *tensor;
}

}  // namespace

bool calls_library(const CallNode& call) {
  const auto* op = as<OperatorNode>(call.callee);
  return op && op->name == "call_dps_library";
}

Expr outline_library(Module& module, const CallNode& call) {
  const auto* name = call.args.empty() ? nullptr : as<ExternFuncNode>(call.args[0]);
  const auto* tensors = call.args.size() == 2 ? as<TupleNode>(call.args[1]) : nullptr;
  if (!name || !tensors || call.annotations.empty()) {
    throw_user(
        "call_dps_library takes a routine, a tuple of tensors and the annotations of its outputs",
        "call_dps_library", "call_dps_library(extern \"name\", (x, y), Tensor((n,), f32))");
  }
  const std::string& routine = name->name;
  // The kernel's own symbolic variables.
  std::vector<Annotation> inputs;
  std::vector<Var> vars;
  for (const Expr& tensor : tensors->fields) {
    inputs.push_back(annotation_of(tensor));
    known(inputs.back(), routine, "an argument", "a match_cast before the call gives it one");
    collect_vars(inputs.back(), vars);
  }
  for (const Annotation& output : call.annotations) {
    known(output, routine, "an output", "state the output's shape and dtype in the call");
    collect_vars(output, vars);
  }
  VarMap to_own;
  for (const Var& var : vars) to_own.emplace(var.get(), make_var(var->name, var.dtype()));
  std::vector<Variable> params;
  std::vector<Expr> own_tensors;
  std::vector<tir::Param> program;
  auto buffer = [&](const std::string& name, const Annotation& annotation) {
    const TensorAnnotation& tensor = *as_tensor(annotation);
    return tir::make_buffer(name, *tensor.dtype, *tensor.shape);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string own = "x" + std::to_string(i);
    params.push_back(make_variable(own, substitute(inputs[i], to_own)));
    own_tensors.push_back(params.back());
    program.push_back({buffer(own, params.back()->annotation), AccessMode::kIn});
  }
  std::vector<Annotation> outputs;
  for (const Annotation& output : call.annotations) {
    outputs.push_back(substitute(output, to_own));
    const std::string own =
        call.annotations.size() == 1 ? "y" : "y" + std::to_string(outputs.size() - 1);
    program.push_back({buffer(own, outputs.back()), AccessMode::kOut});
  }
  tir::PrimFuncRef implementation =
      tir::make_prim_func(std::move(program), tir::make_seq({}), {{"library", routine}});
  Dims own_symbols, symbols;
  for (const Var& own : underived_scalars(*implementation)) {
    own_symbols.push_back(own);
    for (const Var& var : vars) {
      if (to_own.at(var.get()).same_as(own)) {
        symbols.push_back(var);
        break;
      }
    }
  }
  if (!own_symbols.empty()) params.push_back(make_variable("s", shape_annotation(own_symbols)));
  std::vector<Var> made;
  for (const Var& var : vars) made.push_back(to_own.at(var.get()));
  state_least_values(made, annotations_of(params));
  Annotation result = outputs.size() == 1 ? outputs[0] : tuple_annotation(outputs);
  Variable y = make_variable("y", result);
  Expr value = make_op_call("call_dps_library", {call.args[0], make_tuple(own_tensors)}, call.attrs,
                            outputs);
  Block block{.dataflow = true, .bindings = {{y, value, nullptr, {}}}};
  std::string kernel =
      add_kernel(module, make_function(params, make_seq({block}, y), result), implementation);
  std::vector<Expr> args = {make_global(kernel), make_tuple(tensors->fields)};
  if (!symbols.empty()) args.push_back(make_shape(symbols));
  return make_op_call("call_tir", std::move(args), {}, call.annotations);
}

}  // namespace tapml::passes
