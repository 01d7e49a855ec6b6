#include "exec/validate_function.h"

#include <bit>

namespace tapml {

namespace {

// Far above any compiled function; keeps a hostile one from requesting all memory.
constexpr int32_t kMaxRegisters = 1 << 20;
constexpr int kMaxCheckDepth = 64;

class FunctionChecker {
 public:
  FunctionChecker(const Executable& executable, const VmFunction& function)
      : executable_(executable), function_(function), where_("function " + function.name) {}

  Status run() {
    TAPML_TRY(check_sizes());
    for (size_t i = 0; i < function_.programs.size(); ++i) {
      TAPML_TRY(
          check_program(function_.programs[i], slots(), where_ + ", program " + std::to_string(i)));
    }
    for (size_t i = 0; i < function_.layouts.size(); ++i) {
      TAPML_TRY(check_layout(function_.layouts[i], where_ + ", layout " + std::to_string(i)));
    }
    for (size_t i = 0; i < function_.checks.size(); ++i) {
      TAPML_TRY(check_check(function_.checks[i], where_ + ", check " + std::to_string(i), 0));
    }
    TAPML_TRY(check_notes());
    for (size_t i = 0; i < function_.code.size(); ++i) {
      TAPML_TRY(check_instruction(i, where_ + ", instruction " + std::to_string(i)));
    }
    return {};
  }

 private:
  size_t slots() const { return static_cast<size_t>(function_.slots); }

  Status check_sizes() const {
    if (function_.registers < 0 || function_.registers > kMaxRegisters || function_.slots < 0 ||
        function_.slots > kMaxRegisters) {
      return fail(refused(where_, std::to_string(function_.registers) + " registers and " +
                                      std::to_string(function_.slots) + " slots"));
    }
    if (function_.params.size() > static_cast<size_t>(function_.registers)) {
      return fail(refused(where_, "more parameters than registers"));
    }
    if (function_.sources.size() > slots()) {
      return fail(refused(where_, std::to_string(function_.sources.size()) + " sources of " +
                                      std::to_string(slots()) + " slots"));
    }
    // Jumps only go forward, so every path reaches the last instruction or an earlier return.
    if (function_.code.empty() || function_.code.back().op != Opcode::kReturn) {
      return fail(refused(where_, "its code does not end in a return"));
    }
    return {};
  }

  Status check_notes() const {
    int32_t last = 0;
    for (const BindingNote& note : function_.notes) {
      if (note.instruction < last) return fail(refused(where_, "its notes are out of order"));
      last = note.instruction;
      TAPML_TRY(check_index(last, function_.code.size(), where_ + ", a note", "instruction"));
    }
    return {};
  }

  Status check_layout(const TensorLayout& layout, const std::string& where) const {
    if (!is_known(layout.dtype)) return fail(refused(where, "its dtype is unknown"));
    if (layout.dims.size() > kMaxRank) return fail(refused(where, "it has too many dimensions"));
    for (int32_t dim : layout.dims) {
      TAPML_TRY(check_index(dim, function_.programs.size(), where, "program"));
    }
    if (layout.offset == -1) return {};
    return check_index(layout.offset, function_.programs.size(), where, "program");
  }

  Status check_check(const ValueCheck& check, const std::string& where, int depth) const {
    if (depth > kMaxCheckDepth) return fail(refused(where, "tuples are nested too deeply"));
    if (check.kind > ValueCheck::Kind::kCallable)
      return fail(refused(where, "its kind is unknown"));
    if (check.has_dtype && !is_known(check.dtype)) {
      return fail(refused(where, "its dtype is unknown"));
    }
    if (check.dims.size() > kMaxRank) return fail(refused(where, "it has too many dimensions"));
    for (const DimCheck& dim : check.dims) {
      if (dim.define_slot >= 0) {
        TAPML_TRY(check_index(dim.define_slot, slots(), where, "slot"));
      } else {
        TAPML_TRY(check_program(dim.equals, slots(), where));
      }
    }
    for (const ValueCheck& field : check.fields) {
      TAPML_TRY(check_check(field, where, depth + 1));
    }
    return {};
  }

  Status reg(int32_t index, const std::string& where) const {
    return check_index(index, static_cast<size_t>(function_.registers), where, "register");
  }
  Status program(int32_t index, const std::string& where) const {
    return check_index(index, function_.programs.size(), where, "program");
  }
  Status registers(const std::vector<int32_t>& list, const std::string& where) const {
    for (int32_t index : list) TAPML_TRY(reg(index, where));
    return {};
  }
  Status programs(const std::vector<int32_t>& list, const std::string& where) const {
    for (int32_t index : list) TAPML_TRY(program(index, where));
    return {};
  }

  Status jump(int32_t target, size_t from, const std::string& where) const {
    TAPML_TRY(check_index(target, function_.code.size(), where, "instruction"));
    if (static_cast<size_t>(target) <= from) return fail(refused(where, "it jumps back"));
    return {};
  }

  Status check_call_kernel(const Instruction& inst, const std::string& where) const {
    TAPML_TRY(check_index(inst.a, executable_.call_sites.size(), where, "call site"));
    const KernelInfo& kernel = executable_.kernels[executable_.call_sites[inst.a].kernel];
    if (inst.list.size() != kernel.params.size() || inst.list2.size() != kernel.scalars.size()) {
      return fail(refused(where, "kernel " + kernel.name + " takes " +
                                     std::to_string(kernel.params.size()) + " tensors and " +
                                     std::to_string(kernel.scalars.size()) + " scalars, not " +
                                     std::to_string(inst.list.size()) + " and " +
                                     std::to_string(inst.list2.size())));
    }
    if (inst.c != 0) TAPML_TRY(reg(inst.c < 0 ? -1 : inst.c - 1, where));
    if (inst.b != 0) TAPML_TRY(reg(inst.b < 0 ? -1 : inst.b - 1, where));
    TAPML_TRY(registers(inst.list, where));
    return programs(inst.list2, where);
  }

  Status check_prepare(const Instruction& inst, const std::string& where) const {
    TAPML_TRY(reg(inst.a, where));
    TAPML_TRY(check_index(inst.b, executable_.kernels.size(), where, "kernel"));
    const KernelInfo& kernel = executable_.kernels[static_cast<size_t>(inst.b)];
    const Implementation* implementation = executable_.find_implementation(inst.b);
    if (implementation == nullptr || !has_prepared(*implementation)) {
      return fail(refused(where, "kernel " + kernel.name + " prepares nothing"));
    }
    const size_t sources = prepared_sources(*implementation, kernel).size();
    if (inst.list.size() != sources) {
      return fail(refused(where, "kernel " + kernel.name + " prepares " + std::to_string(sources) +
                                     " tensors, not " + std::to_string(inst.list.size())));
    }
    return registers(inst.list, where);
  }

  Status check_call_function(const Instruction& inst, const std::string& where) const {
    TAPML_TRY(reg(inst.a, where));
    TAPML_TRY(check_index(inst.b, executable_.functions.size(), where, "function"));
    const VmFunction& callee = executable_.functions[inst.b];
    if (inst.list.size() != callee.params.size()) {
      return fail(refused(where, "function " + callee.name + " takes " +
                                     std::to_string(callee.params.size()) + " arguments, not " +
                                     std::to_string(inst.list.size())));
    }
    TAPML_TRY(tail(inst, where));
    return registers(inst.list, where);
  }

  Status tail(const Instruction& inst, const std::string& where) const {
    if (inst.c == 0 || inst.c == kTailCall) return {};
    return fail(refused(where, "the kind of its call is unknown"));
  }

  Status check_storage(const Instruction& inst, const std::string& where) const {
    if (inst.c < 0 || inst.c > static_cast<int32_t>(StorageAction::kCheckAssign)) {
      return fail(refused(where, "its operation on storage is unknown"));
    }
    const auto action = static_cast<StorageAction>(inst.c);
    size_t operands = 0;
    if (action == StorageAction::kReshape || action == StorageAction::kCheckAssign) operands = 1;
    if (action == StorageAction::kSlice) operands = 2;
    const bool has_axes = action == StorageAction::kTranspose;
    if (inst.list.size() != operands || (!has_axes && !inst.list2.empty())) {
      return fail(refused(where, "its operation on storage has other operands"));
    }
    if (inst.list2.size() > kMaxRank) return fail(refused(where, "it has too many axes"));
    uint64_t seen = 0;
    for (int32_t axis : inst.list2) {
      TAPML_TRY(check_index(axis, inst.list2.size(), where, "axis"));
      seen |= uint64_t{1} << axis;
    }
    if (static_cast<size_t>(std::popcount(seen)) != inst.list2.size()) {
      return fail(refused(where, "an axis is named twice"));
    }
    TAPML_TRY(reg(inst.a, where));
    TAPML_TRY(reg(inst.b, where));
    return registers(inst.list, where);
  }

  Status check_make_closure(const Instruction& inst, const std::string& where) const {
    TAPML_TRY(reg(inst.a, where));
    TAPML_TRY(check_index(inst.b, executable_.functions.size(), where, "function"));
    const VmFunction& function = executable_.functions[inst.b];
    if (inst.list.size() > function.params.size()) {
      return fail(refused(
          where, "function " + function.name + " takes " + std::to_string(function.params.size()) +
                     " arguments; a value of it holds " + std::to_string(inst.list.size())));
    }
    return registers(inst.list, where);
  }

  Status check_instruction(size_t position, const std::string& where) const {
    const Instruction& inst = function_.code[position];
    switch (inst.op) {
      case Opcode::kCheck:
        TAPML_TRY(reg(inst.a, where));
        return check_index(inst.b, function_.checks.size(), where, "check");
      case Opcode::kComputeSlot:
        TAPML_TRY(check_index(inst.a, slots(), where, "slot"));
        if (inst.c != 0) TAPML_TRY(program(inst.c - 1, where));
        return program(inst.b, where);
      case Opcode::kAllocStorage:
        TAPML_TRY(reg(inst.a, where));
        return program(inst.b, where);
      case Opcode::kStaticStorage:
        TAPML_TRY(reg(inst.a, where));
        return check_index(inst.b, executable_.static_storages.size(), where, "static storage");
      case Opcode::kMakeTensor:
      case Opcode::kView:
        TAPML_TRY(reg(inst.a, where));
        TAPML_TRY(reg(inst.b, where));
        return check_index(inst.c, function_.layouts.size(), where, "layout");
      case Opcode::kMakeShape:
        TAPML_TRY(reg(inst.a, where));
        return programs(inst.list, where);
      case Opcode::kMakeTuple:
        TAPML_TRY(reg(inst.a, where));
        return registers(inst.list, where);
      case Opcode::kGetItem:
        // Only the tuple itself knows its number of fields.
        TAPML_TRY(reg(inst.a, where));
        return reg(inst.b, where);
      case Opcode::kLoadConstant:
        TAPML_TRY(reg(inst.a, where));
        return check_index(inst.b, executable_.constants.size(), where, "constant");
      case Opcode::kMove:
      case Opcode::kReadShape:
        TAPML_TRY(reg(inst.a, where));
        return reg(inst.b, where);
      case Opcode::kCallKernel:
        return check_call_kernel(inst, where);
      case Opcode::kCallFunction:
        return check_call_function(inst, where);
      case Opcode::kStorage:
        return check_storage(inst, where);
      case Opcode::kPrepare:
        return check_prepare(inst, where);
      case Opcode::kMakePrim:
        TAPML_TRY(reg(inst.a, where));
        if (inst.c < 0 || inst.c > static_cast<int32_t>(DType::kF64) ||
            is_float(static_cast<DType>(inst.c))) {
          return fail(refused(where, "a host scalar of a dtype other than integers and bool"));
        }
        return program(inst.b, where);
      case Opcode::kMakeClosure:
        return check_make_closure(inst, where);
      case Opcode::kCallValue:
        // Only the value itself knows its number of arguments.
        TAPML_TRY(reg(inst.a, where));
        TAPML_TRY(reg(inst.b, where));
        TAPML_TRY(tail(inst, where));
        if (inst.c != kTailCall && !inst.list2.empty()) {
          return fail(refused(where, "only a tail call can have result checks"));
        }
        for (int32_t check : inst.list2) {
          TAPML_TRY(check_index(check, function_.checks.size(), where, "check"));
        }
        return registers(inst.list, where);
      case Opcode::kCallPacked:
        TAPML_TRY(reg(inst.a, where));
        TAPML_TRY(check_index(inst.b, executable_.packed.size(), where, "packed function"));
        return registers(inst.list, where);
      case Opcode::kRelease:
      case Opcode::kReturn:
        return reg(inst.a, where);
      case Opcode::kJump:
        return jump(inst.b, position, where);
      case Opcode::kBranchIfNot:
        TAPML_TRY(reg(inst.a, where));
        return jump(inst.b, position, where);
    }
    return fail(refused(where, "its opcode is unknown"));
  }

  const Executable& executable_;
  const VmFunction& function_;
  std::string where_;
};

}  // namespace

Error refused(const std::string& where, const std::string& what) {
  return internal_error("the executable is malformed: " + what, where);
}

bool is_known(DType dtype) { return dtype <= DType::kF64; }

Status check_index(int64_t index, size_t size, const std::string& where, const char* what) {
  if (index >= 0 && static_cast<uint64_t>(index) < size) return {};
  return fail(refused(
      where, std::string(what) + " " + std::to_string(index) + " of " + std::to_string(size)));
}

Status check_program(const ScalarProgram& program, size_t slots, const std::string& where) {
  size_t depth = 0;
  for (const ScalarInst& inst : program.code) {
    if (inst.op > ScalarOp::kSelect) return fail(refused(where, "an unknown scalar operation"));
    if (inst.op == ScalarOp::kSlot) TAPML_TRY(check_index(inst.operand, slots, where, "slot"));
    if (inst.op == ScalarOp::kConst || inst.op == ScalarOp::kSlot) {
      ++depth;
    } else if (inst.op == ScalarOp::kSelect && depth >= 3) {
      depth -= 2;
    } else if (inst.op == ScalarOp::kSelect) {
      return fail(refused(where, "a scalar operation lacks its operands"));
    } else if (depth < 2) {
      return fail(refused(where, "a scalar operation lacks its operands"));
    } else {
      --depth;
    }
  }
  if (depth != 1) return fail(refused(where, "a scalar program does not leave one value"));
  return {};
}

Status check_function(const Executable& executable, const VmFunction& function) {
  return FunctionChecker(executable, function).run();
}

}  // namespace tapml
