#include "codegen/vm/lower.h"

#include <algorithm>
#include <unordered_map>

#include "codegen/vm/shape_heap.h"
#include "ir/exceptions.h"
#include "relax/check_location.h"
#include "relax/kernel_call.h"
#include "relax/memory.h"
#include "relax/storage.h"
#include "relax/subtype.h"
#include "relax/tail_call.h"
#include "relax/visit.h"

namespace tapml::codegen {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class FunctionLowering {
 public:
  FunctionLowering(const std::string& name, const Function& function, VmContext& context,
                   Executable& executable)
      : function_(function), context_(context), executable_(executable), heap_(out_, function) {
    out_.name = name;
  }

  VmFunction run() {
    std::vector<CheckedValue> values;
    for (const Variable& param : function_.params) {
      out_.params.push_back(param->name);
      int32_t reg = registers_[param.get()] = new_register();
      values.push_back({reg, param->annotation, parameter_location(param, out_.name)});
    }
    heap_.check(values);
    return_from(body_of(function_));
    out_.registers = next_register_;
    return std::move(out_);
  }

 private:
  int32_t new_register() { return next_register_++; }
  void emit(Instruction instruction) { out_.code.push_back(std::move(instruction)); }
  int32_t here() const { return static_cast<int32_t>(out_.code.size()); }

  // ---- values

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
      emit({.op = Opcode::kMakeShape, .a = reg, .list = heap_.programs(shape->dims)});
    } else if (const auto* prim = as<PrimValueNode>(expr)) {
      DType dtype = prim->value.dtype();
      if (is_float(dtype)) {
        throw_user("a host scalar is a float", "function " + out_.name, "an integer or bool",
                   dtype_name(dtype), "a constant of rank 0 holds a float");
      }
      emit({.op = Opcode::kMakePrim,
            .a = reg,
            .b = heap_.program(prim->value),
            .c = static_cast<int32_t>(dtype)});
    } else if (const auto* tuple = as<TupleNode>(expr)) {
      emit({.op = Opcode::kMakeTuple, .a = reg, .list = atoms(tuple->fields)});
    } else if (const auto* item = as<TupleGetItemNode>(expr)) {
      int32_t source = atom(item->tuple);
      emit({.op = Opcode::kGetItem, .a = reg, .b = source, .c = item->index});
    } else if (const auto* global = as<GlobalVarNode>(expr)) {
      emit({.op = Opcode::kMakeClosure, .a = reg, .b = function_index(global->name)});
    } else if (const auto* lambda = as<FunctionNode>(expr)) {
      make_closure(*lambda->function, reg);
    } else {
      throw_user("a packed function is used as a value", "function " + out_.name,
                 "a call of it; a function of the module that calls it is a value");
    }
    return reg;
  }

  std::vector<int32_t> atoms(const std::vector<Expr>& exprs) {
    std::vector<int32_t> registers;
    registers.reserve(exprs.size());
    for (const Expr& expr : exprs) registers.push_back(atom(expr));
    return registers;
  }

  int32_t constant_index(const HostTensor& value) {
    const auto next = static_cast<int32_t>(executable_.constants.size());
    auto [known, is_new] = context_.constants.try_emplace(content_hash(value), next);
    if (is_new) executable_.constants.push_back(value);
    return known->second;
  }

  int32_t function_index(const std::string& name) const {
    auto it = context_.functions.find(name);
    if (it != context_.functions.end()) return it->second;
    throw_user("@" + name + " is not a function that the virtual machine can call",
               "function " + out_.name, "a graph-level function that is not a kernel", "@" + name,
               "call_tir calls kernels and tensor programs");
  }

  int32_t packed_index(const std::string& name) {
    const auto next = static_cast<int32_t>(executable_.packed.size());
    auto [known, is_new] = context_.packed.try_emplace(name, next);
    if (is_new) executable_.packed.push_back(name);
    return known->second;
  }

  // After lambda lifting, a lambda only forwards its captured values and its parameters.
  void make_closure(const Function& lambda, int32_t reg) {
    const SeqNode& body = body_of(lambda);
    const CallNode* call = nullptr;
    if (body.blocks.size() == 1 && body.blocks[0].bindings.size() == 1) {
      const Binding& only = body.blocks[0].bindings[0];
      if (body.result == only.var) call = as<CallNode>(only.value);
    }
    const auto* callee = call ? as<GlobalVarNode>(call->callee) : nullptr;
    const size_t own = lambda.params.size();
    if (!callee || call->args.size() < own ||
        !std::equal(lambda.params.begin(), lambda.params.end(),
                    call->args.end() - static_cast<std::ptrdiff_t>(own))) {
      throw_internal("a lambda was not lifted", "function " + out_.name);
    }
    size_t captures = call->args.size() - own;
    std::vector<Expr> captured(call->args.begin(),
                               call->args.begin() + static_cast<std::ptrdiff_t>(captures));
    std::vector<int32_t> list = atoms(captured);
    emit({.op = Opcode::kMakeClosure,
          .a = reg,
          .b = function_index(callee->name),
          .list = std::move(list)});
  }

  // ---- control flow

  void lower_blocks(const SeqNode& seq, const Binding* but) {
    for (const Block& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        if (&binding != but) lower(binding);
      }
    }
  }

  // Returns the sequence's value from the function. `of`: the binding whose branch it is, if any.
  void return_from(const SeqNode& seq, const Binding* of = nullptr) {
    const Binding* last = returned_binding(seq);
    const auto* branch = last ? as<IfNode>(last->value) : nullptr;
    if (!branch && last && !is_tail_call(*last, function_.result)) last = nullptr;
    lower_blocks(seq, last);
    if (branch) {
      note(*last);
      lower_if(*branch, [&](const SeqNode& side) { return_from(side, last); });
      return;
    }
    int32_t result = 0;
    if (last) {
      note(*last);
      result = new_register();
      lower_call(*last, *as<CallNode>(last->value), result, kTailCall);
    } else {
      if (of) {
        note(*of);
      } else {
        note({here(), "", {}});
      }
      result = atom(seq.result);
      if (!is_subtype(annotation_of(seq.result), function_.result)) {
        heap_.check({{result, function_.result, result_location(out_.name)}});
      }
    }
    emit({.op = Opcode::kReturn, .a = result});
  }

  // Lowers both branches with `side`, each in its own scope, and emits the jumps between them.
  template <class Side>
  void lower_if(const IfNode& branch, const Side& side) {
    int32_t condition = atom(branch.condition);
    size_t to_else = out_.code.size();
    emit({.op = Opcode::kBranchIfNot, .a = condition});
    size_t mark = heap_.mark();
    side(*as<SeqNode>(branch.then_branch));
    heap_.forget(mark);
    const bool returned = out_.code.back().op == Opcode::kReturn;
    size_t to_end = out_.code.size();
    if (!returned) emit({.op = Opcode::kJump});
    out_.code[to_else].b = here();
    side(*as<SeqNode>(branch.else_branch));
    heap_.forget(mark);
    if (!returned) out_.code[to_end].b = here();
  }

  // ---- bindings

  void note(const Binding& binding) {
    note({here(), planned_name(binding), binding.origin, binding.check.function});
  }

  void note(BindingNote note) {
    if (!out_.notes.empty() && out_.notes.back().instruction == here()) out_.notes.pop_back();
    out_.notes.push_back(std::move(note));
  }

  void lower(const Binding& binding) {
    note(binding);
    if (binding.match_cast) {
      int32_t reg = atom(binding.value);
      registers_[binding.var.get()] = reg;
      heap_.check({{reg, binding.match_cast, binding_location(binding, out_.name)}});
      return;
    }
    if (const auto* branch = as<IfNode>(binding.value)) {
      int32_t join = new_register();
      lower_if(*branch, [&](const SeqNode& side) {
        lower_blocks(side, nullptr);
        note(binding);
        int32_t result = atom(side.result);
        emit({.op = Opcode::kMove, .a = join, .b = result});
      });
      registers_[binding.var.get()] = join;
      return;
    }
    const auto* call = as<CallNode>(binding.value);
    if (!call) {
      registers_[binding.var.get()] = atom(binding.value);
      return;
    }
    int32_t reg = new_register();
    registers_[binding.var.get()] = reg;
    lower_call(binding, *call, reg, 0);
  }

  void lower_call(const Binding& binding, const CallNode& call, int32_t reg, int32_t tail) {
    if (const auto* global = as<GlobalVarNode>(call.callee)) {
      int32_t function = function_index(global->name);
      emit({.op = Opcode::kCallFunction,
            .a = reg,
            .b = function,
            .c = tail,
            .list = atoms(call.args)});
    } else if (as<VarNode>(call.callee)) {
      int32_t callee = atom(call.callee);
      // The value's own annotation is checked separately; these checks are for the annotation here.
      // After a tail call the VM makes them when the last function returns.
      std::vector<int32_t> later;
      if (tail != 0) {
        const int32_t check =
            heap_.later_check(binding.var->annotation, binding_location(binding, out_.name));
        if (check >= 0) later.push_back(check);
      }
      emit({.op = Opcode::kCallValue,
            .a = reg,
            .b = callee,
            .c = tail,
            .list = atoms(call.args),
            .list2 = std::move(later)});
      if (tail == 0) check_result(binding, reg);
    } else if (const auto* packed = as<ExternFuncNode>(call.callee)) {
      emit({.op = Opcode::kCallPacked,
            .a = reg,
            .b = packed_index(packed->name),
            .list = atoms(call.args)});
      check_result(binding, reg);
    } else {
      lower_operator(binding, call, reg);
    }
  }

  void check_result(const Binding& binding, int32_t reg) {
    heap_.check({{reg, binding.var->annotation, binding_location(binding, out_.name)}});
  }

  void lower_operator(const Binding& binding, const CallNode& call, int32_t reg) {
    const std::string& op = called_operator(binding.value);
    const auto* fixed = find_attr<int64_t>(call.attrs, kStaticAttr);
    if (op == "memory.alloc_storage" && fixed) {
      static_storage(call, *fixed, reg);
    } else if (op == "memory.alloc_storage") {
      emit({.op = Opcode::kAllocStorage,
            .a = reg,
            .b = heap_.program(as<ShapeNode>(call.args[0])->dims[0])});
    } else if (op == "memory.alloc_tensor") {
      DType dtype = attr_or(call.attrs, "dtype", DType::kF32);
      int32_t storage = atom(call.args[0]);
      PrimExpr offset;
      if (call.args.size() > 2) offset = as<PrimValueNode>(call.args[2])->value;
      emit({.op = Opcode::kMakeTensor,
            .a = reg,
            .b = storage,
            .c = heap_.layout(dtype, as<ShapeNode>(call.args[1])->dims, offset)});
    } else if (op == "reshape") {
      const auto* tensor = as_tensor(binding.var->annotation);
      if (!tensor || !tensor->shape || !tensor->dtype) {
        throw_internal("a view of unknown shape", "function " + out_.name);
      }
      int32_t source = atom(call.args[0]);
      emit({.op = Opcode::kView,
            .a = reg,
            .b = source,
            .c = heap_.layout(*tensor->dtype, *tensor->shape)});
    } else if (op == "tensor_to_shape") {
      int32_t source = atom(call.args[0]);
      emit({.op = Opcode::kReadShape, .a = reg, .b = source});
    } else if (storage_op(call) != StorageOp::kNone) {
      storage(call, reg);
    } else if (op == "call_tir_dps") {
      call_kernel(call, binding.origin);
    } else if (op == "memory.prepare") {
      prepare(call);
    } else {
      throw_user("the virtual machine has no instruction for " + op,
                 "function " + out_.name + ", binding " + binding.var->name,
                 "an operator of the operator table, a kernel or a function of the module", op);
    }
  }

  void storage(const CallNode& call, int32_t reg) {
    const StorageOp op = storage_op(call);
    Instruction inst{.op = Opcode::kStorage, .a = reg};
    switch (op) {
      case StorageOp::kViewReshape:
        inst.c = static_cast<int32_t>(StorageAction::kReshape);
        break;
      case StorageOp::kViewSlice:
        inst.c = static_cast<int32_t>(StorageAction::kSlice);
        break;
      case StorageOp::kViewTranspose: {
        inst.c = static_cast<int32_t>(StorageAction::kTranspose);
        const auto* axes = find_attr<std::vector<int64_t>>(call.attrs, "axes");
        if (!axes) throw_internal("view_transpose without axes", "function " + out_.name);
        inst.list2.assign(axes->begin(), axes->end());
        break;
      }
      case StorageOp::kBase:
        inst.c = static_cast<int32_t>(StorageAction::kBase);
        break;
      case StorageOp::kLayout:
        inst.c = static_cast<int32_t>(StorageAction::kLayout);
        break;
      case StorageOp::kIsTensor:
        inst.c = static_cast<int32_t>(StorageAction::kIsTensor);
        break;
      case StorageOp::kCheckAssign:
        inst.c = static_cast<int32_t>(StorageAction::kCheckAssign);
        break;
      default:
        throw_internal("a write was not lowered", "function " + out_.name);
    }
    inst.b = atom(call.args[0]);
    for (size_t i = 1; i < call.args.size(); ++i) inst.list.push_back(atom(call.args[i]));
    emit(std::move(inst));
  }

  // Functions that share a static storage use the size of the largest.
  void static_storage(const CallNode& call, int64_t index, int32_t reg) {
    const PrimExpr& bytes = as<ShapeNode>(call.args[0])->dims[0];
    std::vector<int64_t>& all = executable_.static_storages;
    if (!bytes.is_int() || index < 0 || index > 1 << 20) {
      throw_internal("a static storage of unknown size", "function " + out_.name);
    }
    auto at = static_cast<size_t>(index);
    if (at >= all.size()) all.resize(at + 1);
    all[at] = std::max(all[at], bytes->int_value);
    emit({.op = Opcode::kStaticStorage, .a = reg, .b = static_cast<int32_t>(index)});
  }

  // memory.prepare(@K, (weights...), (prepared)).
  void prepare(const CallNode& call) {
    auto it = context_.kernels.find(as<GlobalVarNode>(call.args[0])->name);
    if (it == context_.kernels.end()) throw_internal("an unknown kernel prepares");
    const int32_t made = atom(as<TupleNode>(call.args[2])->fields.at(0));
    emit({.op = Opcode::kPrepare,
          .a = made,
          .b = it->second.index,
          .list = atoms(as<TupleNode>(call.args[1])->fields)});
  }

  // Register after the one with the values prepared for a call; 0 if there are none.
  int32_t prepared_of(const CallNode& call) {
    const auto* param = find_attr<int64_t>(call.attrs, kPreparedAttr);
    if (!param) return 0;
    return atom(function_.params.at(static_cast<size_t>(*param))) + 1;
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
      scalars.push_back(heap_.program(value));
    }
    executable_.call_sites.push_back({it->second.index, out_.name, origin});
    emit({.op = Opcode::kCallKernel,
          .a = static_cast<int32_t>(executable_.call_sites.size() - 1),
          .b = prepared_of(call),
          .c = call.args.size() > 4 ? atom(call.args[4]) + 1 : 0,
          .list = std::move(tensors),
          .list2 = std::move(scalars)});
  }

  const Function& function_;
  VmContext& context_;
  Executable& executable_;
  VmFunction out_;
  int32_t next_register_ = 0;
  ShapeHeap heap_;
  std::unordered_map<const VarNode*, int32_t> registers_;
};

}  // namespace

VmFunction lower_function(const std::string& name, const Function& function, VmContext& context,
                          Executable& executable) {
  return FunctionLowering(name, function, context, executable).run();
}

}  // namespace tapml::codegen
