#include "exec/parameter_access.h"

namespace tapml {

namespace {

// Tracks parameters through the registers that may hold them, or a view or a field of them. Jumps
// go forward, so the possible contents of a register are known before its use.
class ParameterFlow {
 public:
  ParameterFlow(const Executable& executable, const VmFunction& function)
      : executable_(executable),
        holds_(static_cast<size_t>(function.registers), kNone),
        written_(function.params.size()) {
    for (size_t i = 0; i < written_.size(); ++i) holds_[i] = static_cast<int32_t>(i);
    for (const Instruction& instruction : function.code) follow(instruction);
  }
  std::vector<bool> take() { return std::move(written_); }

 private:
  static constexpr int32_t kNone = -1;

  void follow(const Instruction& instruction) {
    switch (instruction.op) {
      case Opcode::kView:
      case Opcode::kMove:
      case Opcode::kGetItem:
        return alias(instruction.a, instruction.b);
      case Opcode::kCallKernel:
        return call_kernel(instruction);
      case Opcode::kPrepare:
        return write(instruction.a);
      case Opcode::kMakeTensor:
        return write(instruction.b);
      case Opcode::kMakeTuple:
      case Opcode::kCallFunction:
      case Opcode::kMakeClosure:
      case Opcode::kCallPacked:
        return write_all(instruction.list);
      case Opcode::kCallValue:
      case Opcode::kStorage:
        write(instruction.b);
        return write_all(instruction.list);
      // These only read registers, or fill them with fresh values.
      case Opcode::kCheck:
      case Opcode::kComputeSlot:
      case Opcode::kAllocStorage:
      case Opcode::kStaticStorage:
      case Opcode::kMakeShape:
      case Opcode::kLoadConstant:
      case Opcode::kRelease:
      case Opcode::kJump:
      case Opcode::kBranchIfNot:
      case Opcode::kMakePrim:
      case Opcode::kReadShape:
      case Opcode::kReturn:
        return;
    }
  }

  void call_kernel(const Instruction& call) {
    const int32_t kernel = executable_.call_sites[static_cast<size_t>(call.a)].kernel;
    const std::vector<ParamInfo>& params = executable_.kernels[static_cast<size_t>(kernel)].params;
    for (size_t i = 0; i < call.list.size(); ++i) {
      if (params[i].mode != AccessMode::kIn) write(call.list[i]);
    }
    if (call.c > 0) write(call.c - 1);
  }

  void alias(int32_t to, int32_t from) {
    const int32_t held = holds_[static_cast<size_t>(from)];
    int32_t& holds = holds_[static_cast<size_t>(to)];
    if (held == kNone || held == holds) return;
    // One register that may hold either of two parameters: conservatively, both are written.
    if (holds != kNone) {
      write(to);
      return write(from);
    }
    holds = held;
  }
  void write(int32_t of) {
    const int32_t held = holds_[static_cast<size_t>(of)];
    if (held != kNone) written_[static_cast<size_t>(held)] = true;
  }
  void write_all(const std::vector<int32_t>& registers) {
    for (const int32_t of : registers) write(of);
  }

  const Executable& executable_;
  std::vector<int32_t> holds_;  // the parameter held, by register
  std::vector<bool> written_;
};

}  // namespace

std::vector<bool> written_parameters(const Executable& executable, const VmFunction& function) {
  return ParameterFlow(executable, function).take();
}

}  // namespace tapml
