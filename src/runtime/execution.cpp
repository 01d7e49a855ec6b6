#include "runtime/execution.h"

#include <algorithm>

#include "abi/alignment.h"
#include "abi/negative_dimension.h"
#include "runtime/scalars.h"
#include "runtime/session_errors.h"
#include "runtime/storage_op.h"
#include "runtime/value_check.h"

namespace tapml::runtime {

namespace {

constexpr size_t kMaxFrames = 10000;
// Maximum pending result checks of tail calls.
constexpr size_t kMaxPromises = 1000;
constexpr size_t kMaxRegisters = size_t{1} << 22;
// Frames to keep for the next run.
constexpr size_t kKeptFrames = 64;
// Maximum nesting of tuples and function values: code that handles them recurses.
constexpr int32_t kMaxNesting = 1000;

// Appends registers to a tuple or to the captured values of a function value.
Status gather(const std::vector<Value>& registers, const std::vector<int32_t>& list,
              ValueList& into) {
  into.reserve(list.size());
  for (int32_t index : list) {
    const Value& value = registers[index];
    const ValueList* inner = value.tuple();
    if (const Closure* closure = value.closure()) inner = &closure->captured;
    if (inner) into.nesting = std::max(into.nesting, inner->nesting + 1);
    into.push_back(value);
  }
  if (into.nesting <= kMaxNesting) return {};
  return fail(user_error("tuples and function values are nested too deeply", "",
                         "at most " + std::to_string(kMaxNesting) + " levels"));
}

bool holds(DType dtype, int64_t value) {
  if (dtype == DType::kI64) return true;
  if (dtype == DType::kBool) return value == 0 || value == 1;
  if (dtype == DType::kU64) return value >= 0;
  const int bits = dtype_bits(dtype) - (is_signed_integer(dtype) ? 1 : 0);
  const int64_t limit = int64_t{1} << bits;
  return value < limit && value >= (is_signed_integer(dtype) ? -limit : 0);
}

}  // namespace

Execution::Frame& Execution::enter(const VmFunction& function, int32_t result) {
  if (depth_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[depth_++];
  frame.function = &function;
  frame.next = 0;
  frame.result = result;
  frame.registers.resize(static_cast<size_t>(function.registers));
  frame.slots.assign(static_cast<size_t>(function.slots), 0);
  live_registers_ += frame.registers.size();
  return frame;
}

void Execution::leave() {
  Frame& frame = frames_[--depth_];
  live_registers_ -= frame.registers.size();
  frame.registers.clear();
  frame.promises.clear();
}

Result<Value> Execution::run(const VmFunction& function, std::span<const Value> args,
                             const Deadline& deadline) noexcept {
  deadline_ = deadline;
  calls_left_ = call_limit_;
  Frame& frame = enter(function, 0);
  for (size_t i = 0; i < args.size(); ++i) frame.registers[i] = args[i];
  Value result;
  Status status = run_to_end(result);
  if (!status) {
    std::string& where = status.error().where;
    if (where.empty()) where = operation_location(frames_[depth_ - 1]);
    const std::string trace = backtrace();
    if (!trace.empty()) where += "\n    " + trace;
  }
  // Values of a failed run are released too.
  while (depth_ > 0) leave();
  if (frames_.size() > kKeptFrames) frames_.resize(kKeptFrames);
  if (!status) return fail(std::move(status).error());
  return without_views(result, session_);
}

Status Execution::run_to_end(Value& result) {
  while (true) {
    Frame& frame = frames_[depth_ - 1];
    const Instruction& inst = frame.function->code[frame.next++];
    if (inst.op != Opcode::kReturn) {
      TAPML_TRY(step(inst));
      continue;
    }
    for (size_t i = frame.promises.size(); i-- > 0;) {
      Promise& promise = frame.promises[i];
      TAPML_TRY(
          check_value(*promise.function, *promise.check, frame.registers[inst.a], promise.slots));
    }
    Value value = std::move(frame.registers[inst.a]);
    int32_t target = frame.result;
    leave();
    if (depth_ == 0) {
      result = std::move(value);
      return {};
    }
    frames_[depth_ - 1].registers[target] = std::move(value);
  }
}

// Stores the value of program `program` of the frame's function.
Status Execution::compute(const Frame& frame, int32_t program, int64_t& value) const {
  const ScalarProgram& code = frame.function->programs[program];
  if (simple_value(code, frame.slots, value)) return {};
  TAPML_ASSIGN(value, evaluate(code, frame.slots));
  return {};
}

Status Execution::compute_slot(Frame& frame, const Instruction& inst) {
  int64_t& slot = frame.slots[inst.a];
  TAPML_TRY(compute(frame, inst.b, slot));
  if (inst.c == 0) return {};
  int64_t most = 0;
  TAPML_TRY(compute(frame, inst.c - 1, most));
  if (slot <= most) return {};
  return fail(above_bound(*frame.function, inst.a, slot, most));
}

Error Execution::wrong_value(const Frame& frame, const char* wanted) const {
  return internal_error(
      std::string("an instruction needs ") + wanted + " but its register holds something else",
      "function " + frame.function->name + ", instruction " + std::to_string(frame.next - 1));
}

Status Execution::step(const Instruction& inst) {
  Frame& frame = frames_[depth_ - 1];
  const VmFunction& function = *frame.function;
  std::vector<Value>& registers = frame.registers;
  switch (inst.op) {
    case Opcode::kCheck:
      return check_value(function, function.checks[inst.b], registers[inst.a], frame.slots);
    case Opcode::kComputeSlot:
      return compute_slot(frame, inst);
    case Opcode::kAllocStorage: {
      int64_t bytes = 0;
      TAPML_TRY(compute(frame, inst.b, bytes));
      registers[inst.a] = Value();  // its old value may be reused
      TAPML_ASSIGN(registers[inst.a].data, pool_.allocate(bytes));
      return {};
    }
    case Opcode::kStaticStorage:
      registers[inst.a].data = static_storages_[inst.b];
      return {};
    case Opcode::kMakeTensor:
      return make_tensor(frame, inst);
    case Opcode::kMakeShape: {
      Shape shape(inst.list.size());
      for (size_t i = 0; i < shape.size(); ++i) {
        TAPML_TRY(compute(frame, inst.list[i], shape[i]));
      }
      registers[inst.a] = Value(std::move(shape));
      return {};
    }
    case Opcode::kMakeTuple:
      return make_tuple(frame, inst);
    case Opcode::kMakePrim:
      return make_prim(frame, inst);
    case Opcode::kMakeClosure:
      return make_closure(frame, inst);
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
    case Opcode::kPrepare:
      return prepare(frame, inst);
    case Opcode::kCallFunction:
      return call_function(executable_.functions[inst.b], {}, inst);
    case Opcode::kCallValue:
      return call_value(frame, inst);
    case Opcode::kStorage:
      return storage(frame, inst);
    case Opcode::kCallPacked:
      return call_packed(frame, inst);
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

// The error for a tensor without a size, with the sources of the variables of a negative dimension.
Error Execution::unmade(const Frame& frame, const TensorLayout& plan,
                        std::span<const int64_t> shape, Error error) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    const ScalarProgram& program = frame.function->programs[plan.dims[i]];
    return with_sources(std::move(error), symbols_of(*frame.function, program, frame.slots));
  }
  return error;
}

// Gives `tensor` the dtype and shape of `layout`, which must fit into `room` bytes.
Status Execution::lay_out(const Frame& frame, int32_t layout, int64_t room, Tensor& tensor) const {
  const TensorLayout& plan = frame.function->layouts[layout];
  tensor.dtype = plan.dtype;
  tensor.shape.reset(plan.dims.size());
  int64_t* shape = tensor.shape.data();
  for (size_t i = 0; i < plan.dims.size(); ++i) {
    TAPML_TRY(compute(frame, plan.dims[i], shape[i]));
  }
  int64_t bytes = 0;
  if (!simple_byte_count(plan.dtype, tensor.shape, bytes)) {
    Result<int64_t> counted = checked_byte_count(plan.dtype, tensor.shape);
    if (!counted) return fail(unmade(frame, plan, tensor.shape, std::move(counted).error()));
    bytes = *counted;
  }
  if (bytes <= room) return {};
  return fail(internal_error(
      "a tensor " + std::string(dtype_name(plan.dtype)) + shape_to_string(tensor.shape) + " of " +
          std::to_string(bytes) + " bytes does not fit into " + std::to_string(room) + " bytes",
      "function " + frame.function->name + ", instruction " + std::to_string(frame.next - 1)));
}

// Sets the offset of `tensor` in its storage.
Status Execution::set_offset(const Frame& frame, int32_t layout, Tensor& tensor) const {
  const int32_t program = frame.function->layouts[layout].offset;
  if (program < 0) return {};
  TAPML_TRY(compute(frame, program, tensor.offset));
  const int64_t room = tensor.storage->bytes();
  if (tensor.offset >= 0 && tensor.offset <= room && tensor.offset % kTensorAlignment == 0) {
    return {};
  }
  return fail(internal_error(
      "a tensor begins at byte " + std::to_string(tensor.offset) + " of a storage of " +
          std::to_string(room) + " bytes, not at a multiple of " + std::to_string(kTensorAlignment),
      "function " + frame.function->name + ", instruction " + std::to_string(frame.next - 1)));
}

Status Execution::make_tensor(Frame& frame, const Instruction& inst) {
  const auto* held = std::get_if<std::shared_ptr<Storage>>(&frame.registers[inst.b].data);
  if (!held) return fail(wrong_value(frame, "a storage"));
  Tensor tensor;
  tensor.storage = *held;
  TAPML_TRY(set_offset(frame, inst.c, tensor));
  TAPML_TRY(lay_out(frame, inst.c, tensor.storage->bytes() - tensor.offset, tensor));
  // Earlier tensors at this location lose their bytes.
  tensor.storage->written(tensor.offset, tensor.byte_size());
  frame.registers[inst.a].data = std::move(tensor);
  return {};
}

Status Execution::make_view(Frame& frame, const Instruction& inst) {
  const Tensor* source = frame.registers[inst.b].tensor();
  if (!source || source->dtype != frame.function->layouts[inst.c].dtype) {
    return fail(wrong_value(frame, "a tensor of the view's dtype"));
  }
  Tensor view;
  view.storage = source->storage;
  view.offset = source->offset;
  TAPML_TRY(lay_out(frame, inst.c, source->byte_size(), view));
  frame.registers[inst.a].data = std::move(view);
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

Status Execution::may_go_on(const char* what, const std::string& name) const {
  if (interrupt_ != nullptr && interrupt_->load(std::memory_order_relaxed)) {
    return fail(platform_error(PlatformFault::kCancelled, "the run was cancelled", what + name));
  }
  if (passed(deadline_)) {
    return fail(platform_error(PlatformFault::kTimeout, "the run did not end before its deadline",
                               what + name));
  }
  return {};
}

Status Execution::call_kernel(Frame& frame, const Instruction& inst) {
  TAPML_TRY(may_go_on("kernel ", sites_[inst.a].kernel->name));
  call_args_.resize(inst.list.size());
  for (size_t i = 0; i < inst.list.size(); ++i) {
    const Tensor* tensor = frame.registers[inst.list[i]].tensor();
    if (!tensor) return fail(wrong_value(frame, "a tensor"));
    call_args_[i] = tensor;
  }
  call_scalars_.resize(inst.list2.size());
  for (size_t i = 0; i < inst.list2.size(); ++i) {
    TAPML_TRY(compute(frame, inst.list2[i], call_scalars_[i]));
  }
  std::span<const Tensor* const> args(call_args_);
  Scratch scratch;
  if (inst.b > 0) {
    scratch.prepared = frame.registers[inst.b - 1].tensor();
    if (!scratch.prepared) return fail(wrong_value(frame, "a tensor"));
  }
  if (inst.c > 0) {
    const Value& workspace = frame.registers[inst.c - 1];
    if (const auto* whole = std::get_if<std::shared_ptr<Storage>>(&workspace.data)) {
      scratch.workspace = *whole;
    } else if (const Tensor* part = workspace.tensor()) {
      scratch.workspace = part->storage;
      scratch.workspace_offset = part->offset;
    } else {
      return fail(wrong_value(frame, "a storage or bytes in one"));
    }
  }
  return point_.call(sites_[inst.a], args, call_scalars_, scratch);
}

Status Execution::prepare(Frame& frame, const Instruction& inst) {
  call_args_.resize(inst.list.size());
  for (size_t i = 0; i < inst.list.size(); ++i) {
    const Tensor* tensor = frame.registers[inst.list[i]].tensor();
    if (!tensor) return fail(wrong_value(frame, "a tensor"));
    call_args_[i] = tensor;
  }
  const Tensor* out = frame.registers[inst.a].tensor();
  if (!out) return fail(wrong_value(frame, "a tensor"));
  return point_.prepare(inst.b, std::span<const Tensor* const>(call_args_), *out);
}

Status Execution::make_tuple(Frame& frame, const Instruction& inst) {
  auto fields = std::make_shared<ValueList>();
  TAPML_TRY(gather(frame.registers, inst.list, *fields));
  frame.registers[inst.a].data = std::shared_ptr<const ValueList>(std::move(fields));
  return {};
}

Status Execution::make_prim(Frame& frame, const Instruction& inst) {
  Prim prim{static_cast<DType>(inst.c), 0};
  TAPML_TRY(compute(frame, inst.b, prim.value));
  if (!holds(prim.dtype, prim.value)) {
    return fail(user_error("a host scalar does not fit its dtype", "",
                           std::string("a value of ") + dtype_name(prim.dtype),
                           std::to_string(prim.value)));
  }
  frame.registers[inst.a].data = prim;
  return {};
}

Status Execution::make_closure(Frame& frame, const Instruction& inst) {
  auto closure = std::make_shared<Closure>();
  closure->function = &executable_.functions[inst.b];
  TAPML_TRY(gather(frame.registers, inst.list, closure->captured));
  frame.registers[inst.a].data = std::shared_ptr<const Closure>(std::move(closure));
  return {};
}

// A tail call reuses the caller's frame, after taking the arguments out of it.
Status Execution::call_function(const VmFunction& callee, std::span<const Value> captured,
                                const Instruction& inst) {
  TAPML_TRY(may_go_on("function ", callee.name));
  if (calls_left_-- <= 0) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a run makes more than " + std::to_string(call_limit_) + " calls",
                               "function " + callee.name));
  }
  const bool tail = inst.c == kTailCall;
  if ((!tail && depth_ >= kMaxFrames) ||
      live_registers_ + static_cast<size_t>(callee.registers) > kMaxRegisters) {
    return fail(user_error(
        "function calls are nested too deeply", "function " + frames_[depth_ - 1].function->name,
        "at most " + std::to_string(kMaxFrames) + " calls in progress", "",
        "bind the call last and return it unchanged: a tail call needs no stack"));
  }
  if (!tail) {
    Frame& entered = enter(callee, inst.a);
    const Frame& caller = frames_[depth_ - 2];
    std::copy(captured.begin(), captured.end(), entered.registers.begin());
    for (size_t i = 0; i < inst.list.size(); ++i) {
      entered.registers[captured.size() + i] = caller.registers[inst.list[i]];
    }
    return {};
  }
  Frame& frame = frames_[depth_ - 1];
  call_values_.assign(captured.begin(), captured.end());
  for (int32_t index : inst.list) call_values_.push_back(frame.registers[index]);
  live_registers_ += static_cast<size_t>(callee.registers) - frame.registers.size();
  frame.function = &callee;
  frame.next = 0;
  frame.registers.clear();  // releases values that only they held
  frame.registers.resize(static_cast<size_t>(callee.registers));
  frame.slots.assign(static_cast<size_t>(callee.slots), 0);
  std::move(call_values_.begin(), call_values_.end(), frame.registers.begin());
  call_values_.clear();
  return {};
}

Status Execution::call_value(Frame& frame, const Instruction& inst) {
  const auto* held = std::get_if<std::shared_ptr<const Closure>>(&frame.registers[inst.b].data);
  if (!held) {
    return fail(user_error("the called value is not a function", "", "a function value",
                           describe(frame.registers[inst.b])));
  }
  // The frame that holds it may be replaced.
  const std::shared_ptr<const Closure> closure = *held;
  const VmFunction& callee = *closure->function;
  const size_t captured = closure->captured.size();
  if (captured + inst.list.size() != callee.params.size()) {
    return fail(user_error("a call of a function value has the wrong number of arguments",
                           "function " + callee.name,
                           std::to_string(callee.params.size() - captured) + " arguments",
                           std::to_string(inst.list.size())));
  }
  if (!inst.list2.empty()) TAPML_TRY(promise(frame, inst));
  return call_function(callee, closure->captured, inst);
}

// Loops repeat the same promise in every iteration: it is stored once.
Status Execution::promise(Frame& frame, const Instruction& inst) {
  for (int32_t index : inst.list2) {
    const ValueCheck& check = frame.function->checks[index];
    bool known = false;
    for (const Promise& one : frame.promises) {
      known |= one.check == &check && one.slots == frame.slots;
    }
    if (known) continue;
    if (frame.promises.size() >= kMaxPromises) {
      return fail(
          user_error("function calls are nested too deeply", check.where,
                     "at most " + std::to_string(kMaxPromises) + " different results in progress"));
    }
    frame.promises.push_back({frame.function, &check, frame.slots});
  }
  return {};
}

Status Execution::storage(Frame& frame, const Instruction& inst) {
  const Value* operands[2] = {};
  for (size_t i = 0; i < inst.list.size(); ++i) operands[i] = &frame.registers[inst.list[i]];
  auto result = storage_operation(static_cast<StorageAction>(inst.c), frame.registers[inst.b],
                                  {operands, inst.list.size()}, inst.list2);
  if (!result) return fail(std::move(result).error());
  frame.registers[inst.a] = std::move(*result);
  return {};
}

Status Execution::call_packed(Frame& frame, const Instruction& inst) {
  call_values_.clear();
  for (int32_t index : inst.list) {
    TAPML_ASSIGN(Value value, without_views(frame.registers[index], session_));
    call_values_.push_back(std::move(value));
  }
  const std::string& name = executable_.packed[static_cast<size_t>(inst.b)];
  Value result;
  Status made = point_.call_packed({name, frame.function->name, point_.calls(), call_values_},
                                   *packed_[static_cast<size_t>(inst.b)], result);
  call_values_.clear();
  if (!made) {
    Error error = std::move(made).error();
    if (error.where.empty()) error.where = "extern \"" + name + "\"";
    return fail(std::move(error));
  }
  TAPML_TRY(check_home(result, session_, "the result of extern \"" + name + "\""));
  frame.registers[inst.a] = std::move(result);
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
      return fail(user_error("a tensor that is read as a shape has a negative element", "",
                             "dimensions of at least 0", std::to_string(shape.back())));
    }
  }
  frame.registers[inst.a] = Value(std::move(shape));
  return {};
}

Status Execution::branch_if_not(Frame& frame, const Instruction& inst) {
  const Value& condition = frame.registers[inst.a];
  bool holds = false;
  if (const Prim* prim = condition.prim(); prim && prim->dtype == DType::kBool) {
    holds = prim->value != 0;
  } else if (const Tensor* tensor = condition.tensor();
             tensor && tensor->dtype == DType::kBool && tensor->shape.empty()) {
    TAPML_ASSIGN(HostTensor value, download(*tensor));
    holds = value.bytes()[0] != std::byte{0};
  } else {
    return fail(user_error("the condition of an if is not a single truth value", "",
                           "a bool tensor of rank 0", describe(condition)));
  }
  if (!holds) frame.next = static_cast<size_t>(inst.b);
  return {};
}

// The note of the current instruction, or null.
const BindingNote* Execution::note_of(const Frame& frame) {
  const BindingNote* note = nullptr;
  for (const BindingNote& one : frame.function->notes) {
    if (static_cast<size_t>(one.instruction) < frame.next) note = &one;
  }
  return note;
}

// "binding y of main".
std::string Execution::operation_location(const Frame& frame) {
  const std::string& name = frame.function->name;
  const BindingNote* note = note_of(frame);
  if (note == nullptr) return "function " + name;
  if (note->binding.empty()) return "result of " + name;
  return "binding " + note->binding + " of " + (note->function.empty() ? name : note->function);
}

// "@f(x: a tensor f32[2, 4]), binding y (layers.0)".
std::string Execution::place(const Frame& frame) const {
  constexpr size_t kShown = 8;
  const VmFunction& function = *frame.function;
  std::string text = "@" + function.name + "(";
  for (size_t i = 0; i < function.params.size(); ++i) {
    if (i > 0) text += ", ";
    if (i == kShown) {
      text += "...";
      break;
    }
    text += function.params[i] + ": " + describe(frame.registers[i]);
  }
  text += ")";
  const BindingNote* note = note_of(frame);
  if (note == nullptr || note->binding.empty()) return text;
  text += ", binding " + note->binding;
  if (!note->function.empty()) text += " of " + note->function;
  if (!note->origin.layers.empty()) text += " (" + layers_summary(note->origin) + ")";
  return text;
}

// The functions in progress, innermost first. Empty if it adds nothing to the error: a single
// function without bindings.
std::string Execution::backtrace() const {
  constexpr size_t kInnermost = 8, kOutermost = 2;
  const auto has_name = [](const BindingNote& note) { return !note.binding.empty(); };
  if (depth_ == 1 && std::ranges::none_of(frames_[0].function->notes, has_name)) return "";
  std::string text;
  for (size_t i = depth_; i-- > 0;) {
    const size_t from_inside = depth_ - 1 - i;
    if (from_inside == kInnermost && i >= kOutermost) {
      text += "\n    ... " + std::to_string(i + 1 - kOutermost) + " more";
      i = kOutermost;
      continue;
    }
    text += (text.empty() ? "in " : "\n    called from ") + place(frames_[i]);
  }
  return text;
}

}  // namespace tapml::runtime
