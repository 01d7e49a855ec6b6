#include "passes/outline_program.h"

#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/shape_check.h"
#include "relax/check_location.h"
#include "relax/kernel_call.h"
#include "relax/symbol_ranges.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class ProgramOutliner {
 public:
  ProgramOutliner(Module& module, const Binding& binding, bool dataflow)
      : module_(module),
        call_(*as<CallNode>(binding.value)),
        binding_(binding),
        dataflow_(dataflow),
        name_(call_tir_callee(call_)),
        program_(*tir::as_prim_func(module.find(name_))) {
    for (const Var& scalar : program_.scalars) {
      own_[scalar.get()] = make_var(scalar->name, scalar.dtype());
    }
  }

  Expr run(std::vector<Binding>& before, Annotation& out) {
    if (program_.params.size() > kProgramTensors) {
      throw_user("tensor program @" + name_ + " has too many tensors for every platform",
                 "call of @" + name_, "at most " + std::to_string(kProgramTensors),
                 std::to_string(program_.params.size()));
    }
    check_arguments(before);
    std::string kernel = add_spec();
    out = results(at_call_);
    std::vector<Expr> args = {make_global(kernel), make_tuple(args_)};
    if (call_.args.size() > 2) args.push_back(call_.args[2]);
    return make_call(call_.callee, std::move(args), call_.attrs, outputs(out));
  }

 private:
  // The annotations that the call's tensors must have, given the dimensions that stand for the
  // scalars.
  void check_arguments(std::vector<Binding>& before) {
    args_ = call_tir_args(call_);
    std::vector<Annotation> annotations;
    for (const Expr& arg : args_) {
      annotations.push_back(annotation_of(arg));
      const auto* tensor = as_tensor(annotations.back());
      if (tensor && tensor->shape && tensor->dtype) continue;
      throw_user("an argument of @" + name_ + " has no known shape and dtype", "call of @" + name_,
                 "Tensor(shape, dtype)", to_string(annotations.back()),
                 "a match_cast before the call gives it one");
    }
    std::vector<PrimExpr> values = scalar_values(program_, annotations, call_tir_symbols(call_));
    for (size_t i = 0; i < values.size(); ++i) at_call_[program_.scalars[i].get()] = values[i];
    const std::vector<Annotation> expected = argument_annotations(program_, values);
    size_t input = 0;
    for (const tir::Param& param : program_.params) {
      if (param.mode == AccessMode::kOut) continue;
      const std::string& name = param.buffer->name;
      args_[input] = check_shape(args_[input], expected[input], name + "_of_" + name_,
                                 argument_note(name, name_, binding_), dataflow_, before);
      ++input;
    }
  }

  // One annotation per output, over `values`.
  Annotation results(const VarMap& values) const {
    const auto* inout = find_attr<std::vector<int64_t>>(call_.attrs, kInoutAttr);
    std::vector<const tir::Param*> given, fresh;
    for (const tir::Param& param : program_.params) {
      (param.mode == AccessMode::kOut ? fresh : given).push_back(&param);
    }
    std::vector<Annotation> fields;
    size_t next = 0;
    for (size_t j = 0; j < call_.annotations.size(); ++j) {
      int64_t source = inout ? inout->at(j) : -1;
      const tir::Param* param =
          source >= 0 ? given.at(static_cast<size_t>(source)) : fresh.at(next++);
      fields.push_back(buffer_annotation(param->buffer, values));
    }
    return fields.size() == 1 ? fields[0] : tuple_annotation(std::move(fields));
  }

  static std::vector<Annotation> outputs(const Annotation& result) {
    const auto* tuple = as_tuple(result);
    return tuple ? tuple->fields : std::vector<Annotation>{result};
  }

  std::string add_spec() {
    std::vector<Variable> params;
    std::vector<Expr> tensors;
    for (const tir::Param& param : program_.params) {
      if (param.mode == AccessMode::kOut) continue;
      params.push_back(make_variable(param.buffer->name, buffer_annotation(param.buffer, own_)));
      tensors.push_back(params.back());
    }
    std::vector<Expr> args = {make_global(name_), make_tuple(std::move(tensors))};
    Dims symbols;
    for (const Var& var : underived_scalars(program_)) symbols.push_back(own_.at(var.get()));
    if (!symbols.empty()) {
      params.push_back(make_variable("s", shape_annotation(symbols)));
      args.push_back(make_shape(symbols));
    }
    std::vector<Var> made;
    for (const Var& scalar : program_.scalars) made.push_back(own_.at(scalar.get()));
    state_least_values(made, annotations_of(params));
    Annotation result = results(own_);
    Expr value = make_call(call_.callee, std::move(args), call_.attrs, outputs(result));
    Variable y = make_variable("y", result);
    Block block{.dataflow = true, .bindings = {{y, value, nullptr, {}}}};
    AttrMap attrs;
    if (auto it = call_.attrs.find(kInoutAttr); it != call_.attrs.end()) attrs.insert(*it);
    FunctionRef spec = make_function(params, make_seq({block}, y), result, std::move(attrs));
    return add_kernel(module_, spec, std::make_shared<tir::PrimFunc>(program_));
  }

  Module& module_;
  const CallNode& call_;
  const Binding& binding_;
  bool dataflow_;
  std::string name_;
  // A copy: adding the kernel changes the module.
  tir::PrimFunc program_;
  VarMap own_, at_call_;
  std::vector<Expr> args_;
};

}  // namespace

bool calls_program(const Module& module, const CallNode& call) {
  const auto* op = as<OperatorNode>(call.callee);
  if (!op || (op->name != "call_tir" && op->name != "call_tir_inplace")) return false;
  const auto* program = tir::as_prim_func(module.find(call_tir_callee(call)));
  return program && program->facts.spec.empty();
}

Expr outline_program(Module& module, const Binding& binding, bool dataflow,
                     std::vector<Binding>& before, Annotation& out) {
  return ProgramOutliner(module, binding, dataflow).run(before, out);
}

}  // namespace tapml::passes
