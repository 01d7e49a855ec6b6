#include "passes/fuse_tensor_ir.h"

#include "ir/exceptions.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/kernel_call.h"
#include "relax/rewrite.h"
#include "relax/visit.h"
#include "tir/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Composes one fused function into a kernel.
class Composer {
 public:
  Composer(const Module& module, const Function& fused) : module_(module), fused_(fused) {}

  std::string compose(Module& result) {
    for (const Variable& param : fused_.params) {
      if (!as_tensor(param->annotation)) continue;
      spec_params_.push_back(param);
      buffers_[param.get()] = add_buffer(param->name, param->annotation);
      tir_params_.push_back({buffers_[param.get()], AccessMode::kIn});
    }
    const SeqNode& calls = body_of(fused_);
    if (calls.blocks.size() != 1) refuse("its body");
    const auto& bindings = calls.blocks[0].bindings;
    for (size_t i = 0; i < bindings.size(); ++i) {
      add_member(bindings[i], i + 1 == bindings.size());
    }
    tir::Stmt body = tir::make_seq(std::move(nests_));
    for (size_t i = between_.size(); i-- > 0;) body = tir::make_alloc(between_[i], body);
    tir::PrimFuncRef implementation = tir::make_prim_func(tir_params_, body);
    symbols_ = underived_scalars(*implementation);
    if (written_) implementation = mark_written(*implementation);
    std::vector<Variable> params = spec_params_;
    if (!symbols_.empty()) {
      params.push_back(
          make_variable("s", shape_annotation(Dims(symbols_.begin(), symbols_.end()))));
    }
    Expr last = spec_values_.at(bindings.back().var.get());
    FunctionRef spec = make_function(params, make_seq({spec_block_}, last), annotation_of(last));
    return add_kernel(result, spec, implementation);
  }

  // Symbols that a call must pass, over the fused function's variables.
  const std::vector<Var>& symbols() const { return symbols_; }

 private:
  // A text program may set the attribute on any function.
  [[noreturn]] static void refuse(const std::string& where) {
    throw_user("a function marked fused does more than call kernels", where,
               "one block of call_tir(@kernel, ...)", "",
               "fuse_ops makes such functions, after legalize");
  }

  static tir::Buffer add_buffer(const std::string& name, const Annotation& annotation) {
    const auto* tensor = as_tensor(annotation);
    if (!tensor || !tensor->dtype || !tensor->shape) {
      throw_user("a fused value has no known shape and dtype", "value " + name,
                 "Tensor(shape, dtype)", to_string(annotation), "name_shapes before legalize");
    }
    return tir::make_buffer(name, *tensor->dtype, *tensor->shape);
  }

  void add_member(const Binding& binding, bool last) {
    if (!is_call_tir(binding.value)) refuse("value " + binding.var->name);
    const auto& call = *as<CallNode>(binding.value);
    const std::string& kernel = call_tir_callee(call);
    const std::vector<Expr>& args = call_tir_args(call);
    add_operators(kernel_spec(module_, kernel), call, args, binding, last);
    tir::Buffer out = add_buffer(last ? "out" : binding.var->name, binding.var->annotation);
    buffers_[binding.var.get()] = out;
    if (last) {
      tir_params_.push_back({out, AccessMode::kOut});
    } else {
      between_.push_back(out);
    }
    const tir::PrimFunc& loops = kernel_implementation(module_, kernel);
    written_ |= loops.facts.written;
    add_loops(loops, call, args, out);
  }

  // The member's operators, with its parameters replaced by the call's arguments.
  void add_operators(const Function& spec, const CallNode& call, const std::vector<Expr>& args,
                     const Binding& binding, bool last) {
    VarMap symbols;
    ExprMap values;
    for (size_t i = 0; i < spec.params.size(); ++i) {
      if (i < args.size()) {
        unify(spec.params[i]->annotation, annotation_of(args[i]), symbols);
        values[spec.params[i].get()] = spec_value(args[i]);
      } else {
        unify(spec.params[i]->annotation, shape_annotation(call_tir_symbols(call)), symbols);
      }
    }
    for (const Block& block : body_of(spec).blocks) {
      for (const Binding& inner : block.bindings) {
        bool leaves_block = last && body_of(spec).result == inner.var;
        Variable var = make_variable("y" + std::to_string(spec_block_.bindings.size()),
                                     substitute(inner.var->annotation, symbols), !leaves_block);
        Expr value = substitute_all(inner.value, values, symbols);
        spec_block_.bindings.push_back({var, value, nullptr, {}});
        values[inner.var.get()] = var;
      }
    }
    spec_block_.dataflow = true;
    spec_values_[binding.var.get()] = substitute(body_of(spec).result, values);
  }

  Expr spec_value(const Expr& arg) const {
    const auto* var = as<VarNode>(arg);
    auto it = spec_values_.find(var);
    return it == spec_values_.end() ? arg : it->second;
  }

  void add_loops(const tir::PrimFunc& func, const CallNode& call, const std::vector<Expr>& args,
                 const tir::Buffer& out) {
    std::vector<Annotation> annotations;
    for (const Expr& arg : args) annotations.push_back(annotation_of(arg));
    std::vector<PrimExpr> scalars = scalar_values(func, annotations, call_tir_symbols(call));
    VarMap symbols;
    for (size_t i = 0; i < scalars.size(); ++i) symbols[func.scalars[i].get()] = scalars[i];
    tir::BufferMap replaced;
    size_t input = 0;
    for (const tir::Param& param : func.params) {
      replaced[param.buffer.get()] =
          param.mode == AccessMode::kOut ? out : buffers_.at(as<VarNode>(args.at(input++)));
    }
    tir::Stmt body = tir::refresh_vars(func.body);
    nests_.push_back(tir::replace_buffers(tir::substitute(body, symbols), replaced));
  }

  const Module& module_;
  const Function& fused_;
  std::vector<Variable> spec_params_;
  Block spec_block_;
  std::map<const VarNode*, Expr> spec_values_;
  std::map<const VarNode*, tir::Buffer> buffers_;
  std::vector<tir::Param> tir_params_;
  std::vector<tir::Buffer> between_;
  std::vector<tir::Stmt> nests_;
  std::vector<Var> symbols_;
  bool written_ = false;  // whether some member's loops are hand-written
};

struct Composed {
  std::string kernel;
  std::vector<Var> symbols;
  const Function* fused;
};

Binding lower_call(const Binding& binding, const Composed& composed) {
  const auto& call = *as<CallNode>(binding.value);
  VarMap values;
  std::vector<Expr> tensors;
  for (size_t i = 0; i < call.args.size(); ++i) {
    Annotation annotation = annotation_of(call.args[i]);
    unify(composed.fused->params[i]->annotation, annotation, values);
    if (as_tensor(annotation)) tensors.push_back(call.args[i]);
  }
  std::vector<Expr> args = {make_global(composed.kernel), make_tuple(tensors)};
  if (!composed.symbols.empty()) {
    Dims symbols;
    for (const Var& var : composed.symbols) symbols.push_back(tapml::substitute(var, values));
    args.push_back(make_shape(std::move(symbols)));
  }
  Binding result = binding;
  result.value = make_op_call("call_tir", std::move(args), {}, {binding.var->annotation});
  return result;
}

}  // namespace

Module fuse_tensor_ir(const Module& module) {
  Module result = module;
  std::map<std::string, Composed> composed;
  for (const auto& [name, function] : module.functions) {
    const Function* fused = as_relax_function(function.get());
    if (!fused || !is_fused(*fused)) continue;
    Composer composer(module, *fused);
    std::string kernel = composer.compose(result);
    composed[name] = {kernel, composer.symbols(), fused};
    result.functions.erase(name);
  }
  for (const auto& [name, source] : graph_functions(module)) {
    if (composed.contains(name)) continue;
    Expr body = map_blocks(source->body, [&](const Block& block) {
      Block lowered = block;
      for (Binding& binding : lowered.bindings) {
        const auto* call = as<CallNode>(binding.value);
        const auto* callee = call ? as<GlobalVarNode>(call->callee) : nullptr;
        auto it = callee ? composed.find(callee->name) : composed.end();
        if (it != composed.end()) binding = lower_call(binding, it->second);
      }
      return lowered;
    });
    result.functions[name] = with_body(*source, std::move(body));
  }
  return result;
}

}  // namespace tapml::passes
