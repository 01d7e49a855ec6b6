#include "runtime/execution.h"

#include "runtime/value_check.h"

namespace tapml::runtime {

namespace {

constexpr size_t kMaxFrames = 10000;
constexpr size_t kMaxRegisters = size_t{1} << 22;

}  // namespace

void Execution::enter(const VmFunction& function, int32_t result) {
  Frame frame;
  frame.function = &function;
  frame.result = result;
  frame.registers.resize(static_cast<size_t>(function.registers));
  frame.slots.resize(static_cast<size_t>(function.slots));
  live_registers_ += frame.registers.size();
  frames_.push_back(std::move(frame));
}

Result<Value> Execution::run(const VmFunction& function, std::span<const Value> args) noexcept {
  enter(function, 0);
  for (size_t i = 0; i < args.size(); ++i) frames_[0].registers[i] = args[i];
  while (true) {
    Frame& frame = frames_.back();
    const Instruction& inst = frame.function->code[frame.next++];
    if (inst.op != Opcode::kReturn) {
      TAPML_TRY(step(inst));
      continue;
    }
    Value value = std::move(frame.registers[inst.a]);
    int32_t result = frame.result;
    live_registers_ -= frame.registers.size();
    frames_.pop_back();
    if (frames_.empty()) return value;
    frames_.back().registers[result] = std::move(value);
  }
}

Error Execution::wrong_value(const Frame& frame, const char* wanted) const {
  return internal_error(
      std::string("an instruction needs ") + wanted + " but its register holds something else",
      "function " + frame.function->name + ", instruction " + std::to_string(frame.next - 1));
}

Status Execution::step(const Instruction& inst) {
  Frame& frame = frames_.back();
  const VmFunction& function = *frame.function;
  std::vector<Value>& registers = frame.registers;
  switch (inst.op) {
    case Opcode::kCheck:
      return check_value(function.checks[inst.b], registers[inst.a], frame.slots);
    case Opcode::kComputeSlot: {
      TAPML_ASSIGN(frame.slots[inst.a], evaluate(function.programs[inst.b], frame.slots));
      return {};
    }
    case Opcode::kAllocStorage: {
      TAPML_ASSIGN(int64_t bytes, evaluate(function.programs[inst.b], frame.slots));
      registers[inst.a] = Value();  // what it held may serve again
      TAPML_ASSIGN(registers[inst.a].data, pool_.allocate(bytes));
      return {};
    }
    case Opcode::kMakeTensor:
      return make_tensor(frame, inst);
    case Opcode::kMakeShape: {
      Shape shape(inst.list.size());
      for (size_t i = 0; i < shape.size(); ++i) {
        TAPML_ASSIGN(shape[i], evaluate(function.programs[inst.list[i]], frame.slots));
      }
      registers[inst.a] = Value(std::move(shape));
      return {};
    }
    case Opcode::kMakeTuple: {
      auto fields = std::make_shared<ValueList>();
      for (int32_t index : inst.list) fields->push_back(registers[index]);
      registers[inst.a].data = std::shared_ptr<const ValueList>(std::move(fields));
      return {};
    }
    case Opcode::kGetItem:
      return get_item(frame, inst);
    case Opcode::kView:
      return make_view(frame, inst);
    case Opcode::kLoadConstant:
      registers[inst.a] = Value(constants_[inst.b]);
      return {};
    case Opcode::kMove: {
      Value value = registers[inst.b];
      registers[inst.a] = std::move(value);
      return {};
    }
    case Opcode::kCallKernel:
      return call_kernel(frame, inst);
    case Opcode::kCallFunction:
      return call_function(inst);
    case Opcode::kRelease:
      registers[inst.a] = Value();
      return {};
    case Opcode::kJump:
      frame.next = static_cast<size_t>(inst.b);
      return {};
    case Opcode::kBranchIfNot:
      return branch_if_not(frame, inst);
    case Opcode::kReadShape:
      return read_shape(frame, inst);
    case Opcode::kReturn:
      break;
  }
  return fail(wrong_value(frame, "a known opcode"));
}

// A tensor of `layout` at `offset` of `storage`, where there is room for `room` bytes.
Result<Tensor> Execution::lay_out(const Frame& frame, int32_t layout,
                                  std::shared_ptr<Storage> storage, int64_t offset,
                                  int64_t room) const {
  const TensorLayout& plan = frame.function->layouts[layout];
  Shape shape(plan.dims.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    TAPML_ASSIGN(shape[i], evaluate(frame.function->programs[plan.dims[i]], frame.slots));
  }
  TAPML_ASSIGN(int64_t bytes, checked_byte_count(plan.dtype, shape));
  if (bytes > room) {
    return fail(internal_error(
        "a tensor " + std::string(dtype_name(plan.dtype)) + shape_to_string(shape) + " of " +
            std::to_string(bytes) + " bytes is laid over " + std::to_string(room) + " bytes",
        "function " + frame.function->name + ", instruction " + std::to_string(frame.next - 1)));
  }
  return Tensor{std::move(storage), offset, plan.dtype, std::move(shape)};
}

Status Execution::make_tensor(Frame& frame, const Instruction& inst) {
  const auto* held = std::get_if<std::shared_ptr<Storage>>(&frame.registers[inst.b].data);
  if (!held) return fail(wrong_value(frame, "a storage"));
  std::shared_ptr<Storage> storage = *held;
  int64_t room = storage->bytes();
  // The bytes of the tensor that lay here before are given up.
  storage->written();
  TAPML_ASSIGN(Tensor tensor, lay_out(frame, inst.c, std::move(storage), 0, room));
  frame.registers[inst.a] = Value(std::move(tensor));
  return {};
}

Status Execution::make_view(Frame& frame, const Instruction& inst) {
  const Tensor* source = frame.registers[inst.b].tensor();
  if (!source || source->dtype != frame.function->layouts[inst.c].dtype) {
    return fail(wrong_value(frame, "a tensor of the view's dtype"));
  }
  TAPML_ASSIGN(Tensor view,
               lay_out(frame, inst.c, source->storage, source->offset, source->byte_size()));
  frame.registers[inst.a] = Value(std::move(view));
  return {};
}

Status Execution::get_item(Frame& frame, const Instruction& inst) {
  const ValueList* fields = frame.registers[inst.b].tuple();
  if (!fields || inst.c < 0 || static_cast<size_t>(inst.c) >= fields->size()) {
    return fail(wrong_value(frame, "a tuple with that field"));
  }
  Value field = (*fields)[inst.c];
  frame.registers[inst.a] = std::move(field);
  return {};
}

Status Execution::call_kernel(Frame& frame, const Instruction& inst) {
  call_args_.resize(inst.list.size());
  for (size_t i = 0; i < inst.list.size(); ++i) {
    const Tensor* tensor = frame.registers[inst.list[i]].tensor();
    if (!tensor) return fail(wrong_value(frame, "a tensor"));
    call_args_[i] = *tensor;
  }
  call_scalars_.resize(inst.list2.size());
  for (size_t i = 0; i < inst.list2.size(); ++i) {
    TAPML_ASSIGN(call_scalars_[i], evaluate(frame.function->programs[inst.list2[i]], frame.slots));
  }
  Status status = point_.call(sites_[inst.a], call_args_, call_scalars_);
  // A reference left here would keep a storage from being used again.
  call_args_.clear();
  return status;
}

Status Execution::call_function(const Instruction& inst) {
  const VmFunction& callee = executable_.functions[inst.b];
  if (frames_.size() >= kMaxFrames ||
      live_registers_ + static_cast<size_t>(callee.registers) > kMaxRegisters) {
    return fail(user_error("functions call each other too deep",
                           "function " + frames_.back().function->name,
                           "at most " + std::to_string(kMaxFrames) + " calls in progress"));
  }
  enter(callee, inst.a);
  Frame& caller = frames_[frames_.size() - 2];
  Frame& entered = frames_.back();
  for (size_t i = 0; i < inst.list.size(); ++i) {
    entered.registers[i] = caller.registers[inst.list[i]];
  }
  return {};
}

Status Execution::read_shape(Frame& frame, const Instruction& inst) {
  const Tensor* source = frame.registers[inst.b].tensor();
  if (!source || !is_integer(source->dtype) || source->shape.size() != 1) {
    return fail(wrong_value(frame, "an integer tensor of rank 1"));
  }
  TAPML_ASSIGN(HostTensor values, download(*source));
  Shape shape;
  for (int64_t i = 0; i < values.size(); ++i) {
    shape.push_back(static_cast<int64_t>(values.at_f64(i)));
    if (shape.back() < 0) {
      return fail(user_error("a tensor that is read as a shape has a negative element",
                             "function " + frame.function->name, "dimensions of at least 0",
                             std::to_string(shape.back())));
    }
  }
  frame.registers[inst.a] = Value(std::move(shape));
  return {};
}

Status Execution::branch_if_not(Frame& frame, const Instruction& inst) {
  const Tensor* condition = frame.registers[inst.a].tensor();
  if (!condition || condition->dtype != DType::kBool || !condition->shape.empty()) {
    return fail(wrong_value(frame, "a bool tensor without dimensions"));
  }
  TAPML_ASSIGN(HostTensor value, download(*condition));
  if (value.bytes()[0] == std::byte{0}) frame.next = static_cast<size_t>(inst.b);
  return {};
}

}  // namespace tapml::runtime
