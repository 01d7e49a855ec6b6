#include "codegen/vm/lower.h"

#include "arith/scalar_program.h"
#include "ir/exceptions.h"
#include "relax/kernel_call.h"
#include "relax/visit.h"

namespace tapml::codegen {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class FunctionLowering {
 public:
  FunctionLowering(const std::string& name, const Function& function, const VmContext& context,
                   Executable& executable)
      : function_(function), context_(context), executable_(executable) {
    out_.name = name;
  }

  VmFunction run() {
    for (const Variable& param : function_.params) {
      out_.params.push_back(param->name);
      registers_[param.get()] = new_register();
    }
    for (const Variable& param : function_.params) {
      check(registers_.at(param.get()), param->annotation,
            "parameter " + param->name + " of " + out_.name);
    }
    for (const Block& block : body_of(function_).blocks) {
      for (const Binding& binding : block.bindings) lower(binding);
    }
    int32_t result = atom(body_of(function_).result);
    emit({.op = Opcode::kReturn, .a = result});
    out_.registers = next_register_;
    out_.slots = static_cast<int32_t>(slots_.size());
    return std::move(out_);
  }

 private:
  int32_t new_register() { return next_register_++; }
  void emit(Instruction instruction) { out_.code.push_back(std::move(instruction)); }

  // ---- symbolic integers

  int32_t find_slot(const Var& var) const {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].same_as(var)) return static_cast<int32_t>(i);
    }
    return -1;
  }

  ScalarProgram scalar_program(const PrimExpr& expr) {
    for (const Var& var : free_vars(expr)) {
      if (find_slot(var) < 0) {
        throw_user("symbolic variable " + var->name + " has no value here", "function " + out_.name,
                   "a parameter or match_cast that has it as a dimension", to_string(expr));
      }
    }
    return arith::compile_scalar(expr, slots_);
  }

  int32_t program(const PrimExpr& expr) {
    ScalarProgram code = scalar_program(expr);
    for (size_t i = 0; i < out_.programs.size(); ++i) {
      if (out_.programs[i] == code) return static_cast<int32_t>(i);
    }
    out_.programs.push_back(std::move(code));
    return static_cast<int32_t>(out_.programs.size() - 1);
  }

  std::vector<int32_t> programs(const Dims& dims) {
    std::vector<int32_t> list;
    for (const PrimExpr& dim : dims) list.push_back(program(dim));
    return list;
  }

  // ---- run-time checks

  // Dimensions that are a new variable define its slot. Compound expressions come in a second pass,
  // when every variable of the value is defined.
  void define_slots(const Annotation& annotation, std::vector<std::pair<Var, int32_t>>& fresh) {
    auto dims = [&](const std::optional<Dims>& list) {
      if (!list) return;
      for (const PrimExpr& dim : *list) {
        if (!dim.is_var() || find_slot(dim) >= 0) continue;
        slots_.push_back(dim);
        fresh.emplace_back(dim, static_cast<int32_t>(slots_.size() - 1));
      }
    };
    if (const auto* tensor = as_tensor(annotation)) dims(tensor->shape);
    if (const auto* shape = as_shape(annotation)) dims(shape->dims);
    if (const auto* tuple = as_tuple(annotation)) {
      for (const Annotation& field : tuple->fields) define_slots(field, fresh);
    }
  }

  void fill_dims(ValueCheck& result, const std::optional<Dims>& dims,
                 std::vector<std::pair<Var, int32_t>>& fresh) {
    if (!dims) return;
    result.has_dims = true;
    for (const PrimExpr& dim : *dims) {
      DimCheck one;
      one.expression = to_string(dim);
      bool defines = false;
      for (auto it = fresh.begin(); it != fresh.end(); ++it) {
        if (!it->first.same_as(dim)) continue;
        one.define_slot = it->second;
        fresh.erase(it);
        defines = true;
        break;
      }
      if (!defines) one.equals = scalar_program(dim);
      result.dims.push_back(std::move(one));
    }
  }

  ValueCheck value_check(const Annotation& annotation, const std::string& where,
                         std::vector<std::pair<Var, int32_t>>& fresh) {
    ValueCheck result;
    result.where = where;
    if (const auto* tensor = as_tensor(annotation)) {
      result.kind = ValueCheck::Kind::kTensor;
      result.has_dtype = tensor->dtype.has_value();
      if (tensor->dtype) result.dtype = *tensor->dtype;
      result.ndim = tensor->ndim;
      fill_dims(result, tensor->shape, fresh);
    } else if (const auto* shape = as_shape(annotation)) {
      result.kind = ValueCheck::Kind::kShape;
      result.ndim = shape->ndim;
      fill_dims(result, shape->dims, fresh);
    } else if (const auto* tuple = as_tuple(annotation)) {
      result.kind = ValueCheck::Kind::kTuple;
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        result.fields.push_back(
            value_check(tuple->fields[i], where + ", field " + std::to_string(i), fresh));
      }
    }
    return result;
  }

  void check(int32_t reg, const Annotation& annotation, const std::string& where) {
    std::vector<std::pair<Var, int32_t>> fresh;
    define_slots(annotation, fresh);
    out_.checks.push_back(value_check(annotation, where, fresh));
    emit({.op = Opcode::kCheck, .a = reg, .b = static_cast<int32_t>(out_.checks.size() - 1)});
  }

  // ---- values

  int32_t layout(DType dtype, const Dims& dims) {
    out_.layouts.push_back({dtype, programs(dims)});
    return static_cast<int32_t>(out_.layouts.size() - 1);
  }

  // Register that holds an atom.
  int32_t atom(const Expr& expr) {
    if (const auto* var = as<VarNode>(expr)) {
      auto it = registers_.find(var);
      if (it == registers_.end()) throw_internal("variable " + var->name + " has no register");
      return it->second;
    }
    int32_t reg = new_register();
    if (const auto* constant = as<ConstantNode>(expr)) {
      emit({.op = Opcode::kLoadConstant, .a = reg, .b = constant_index(constant->value)});
    } else if (const auto* shape = as<ShapeNode>(expr)) {
      emit({.op = Opcode::kMakeShape, .a = reg, .list = programs(shape->dims)});
    } else if (const auto* prim = as<PrimValueNode>(expr)) {
      emit({.op = Opcode::kMakeShape, .a = reg, .list = {program(prim->value)}});
    } else if (const auto* tuple = as<TupleNode>(expr)) {
      std::vector<int32_t> fields;
      for (const Expr& field : tuple->fields) fields.push_back(atom(field));
      emit({.op = Opcode::kMakeTuple, .a = reg, .list = std::move(fields)});
    } else if (const auto* item = as<TupleGetItemNode>(expr)) {
      int32_t source = atom(item->tuple);
      emit({.op = Opcode::kGetItem, .a = reg, .b = source, .c = item->index});
    } else {
      throw_user("branches and function values are not compiled", "function " + out_.name,
                 "variables, constants, shapes and tuples");
    }
    return reg;
  }

  int32_t constant_index(const HostTensor& value) {
    std::string hash = content_hash(value);
    for (size_t i = 0; i < executable_.constants.size(); ++i) {
      if (content_hash(executable_.constants[i]) == hash) return static_cast<int32_t>(i);
    }
    executable_.constants.push_back(value);
    return static_cast<int32_t>(executable_.constants.size() - 1);
  }

  void lower(const Binding& binding) {
    if (binding.match_cast) {
      int32_t reg = atom(binding.value);
      registers_[binding.var.get()] = reg;
      check(reg, binding.match_cast, "match_cast " + binding.var->name + " of " + out_.name);
      return;
    }
    const auto* call = as<CallNode>(binding.value);
    if (!call) {
      registers_[binding.var.get()] = atom(binding.value);
      return;
    }
    int32_t reg = new_register();
    registers_[binding.var.get()] = reg;
    const std::string& op = called_operator(binding.value);
    if (op == "memory.alloc_storage") {
      emit({.op = Opcode::kAllocStorage,
            .a = reg,
            .b = program(as<ShapeNode>(call->args[0])->dims[0])});
    } else if (op == "memory.alloc_tensor") {
      DType dtype = attr_or(call->attrs, "dtype", DType::kF32);
      int32_t storage = atom(call->args[0]);
      emit({.op = Opcode::kMakeTensor,
            .a = reg,
            .b = storage,
            .c = layout(dtype, as<ShapeNode>(call->args[1])->dims)});
    } else if (op == "reshape") {
      const auto* tensor = as_tensor(binding.var->annotation);
      if (!tensor || !tensor->shape || !tensor->dtype) {
        throw_internal("a view of unknown shape", "function " + out_.name);
      }
      int32_t source = atom(call->args[0]);
      emit({.op = Opcode::kView,
            .a = reg,
            .b = source,
            .c = layout(*tensor->dtype, *tensor->shape)});
    } else if (op == "tensor_to_shape") {
      int32_t source = atom(call->args[0]);
      emit({.op = Opcode::kReadShape, .a = reg, .b = source});
    } else if (op == "call_tir_dps") {
      call_kernel(*call, binding.origin);
    } else if (const auto* global = as<GlobalVarNode>(call->callee)) {
      auto it = context_.functions.find(global->name);
      if (it == context_.functions.end()) throw_internal("unknown function " + global->name);
      std::vector<int32_t> args;
      for (const Expr& arg : call->args) args.push_back(atom(arg));
      emit({.op = Opcode::kCallFunction, .a = reg, .b = it->second, .list = std::move(args)});
    } else {
      throw_user("the virtual machine has no instruction for " +
                     (op.empty() ? "calls of packed functions and function values" : op),
                 "function " + out_.name + ", binding " + binding.var->name,
                 "an operator of the operator table, a kernel or a function of the module",
                 op.empty() ? "" : op);
    }
  }

  void call_kernel(const CallNode& call, const Origin& origin) {
    const std::string& name = as<GlobalVarNode>(call.args[0])->name;
    auto it = context_.kernels.find(name);
    if (it == context_.kernels.end()) {
      throw_user("@" + name + " is a tensor program without a spec", "function " + out_.name,
                 "a kernel: a graph-level spec with its implementation", "@" + name);
    }
    const auto* inputs = as<TupleNode>(call.args[1]);
    const auto* outputs = as<TupleNode>(call.args[2]);
    std::vector<int32_t> tensors;
    std::vector<Annotation> annotations;
    for (const Expr& input : inputs->fields) {
      tensors.push_back(atom(input));
      annotations.push_back(annotation_of(input));
    }
    for (const Expr& output : outputs->fields) tensors.push_back(atom(output));
    Dims symbols;
    if (call.args.size() > 3) symbols = as<ShapeNode>(call.args[3])->dims;
    std::vector<int32_t> scalars;
    for (const PrimExpr& value : scalar_values(*it->second.signature, annotations, symbols)) {
      scalars.push_back(program(value));
    }
    executable_.call_sites.push_back({it->second.index, out_.name, origin});
    emit({.op = Opcode::kCallKernel,
          .a = static_cast<int32_t>(executable_.call_sites.size() - 1),
          .list = std::move(tensors),
          .list2 = std::move(scalars)});
  }

  const Function& function_;
  const VmContext& context_;
  Executable& executable_;
  VmFunction out_;
  int32_t next_register_ = 0;
  std::vector<Var> slots_;
  std::map<const VarNode*, int32_t> registers_;
};

}  // namespace

VmFunction lower_function(const std::string& name, const Function& function,
                          const VmContext& context, Executable& executable) {
  return FunctionLowering(name, function, context, executable).run();
}

}  // namespace tapml::codegen
