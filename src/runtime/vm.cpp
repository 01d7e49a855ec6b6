#include "runtime/vm.h"

#include "runtime/execution.h"

namespace tapml::runtime {

struct VirtualMachine::State {
  State(Session& on, std::unique_ptr<KernelRunner> kernels)
      : session(on), runner(std::move(kernels)), point(*runner), pool(on) {}

  Session& session;
  std::unique_ptr<KernelRunner> runner;
  CallPoint point;
  StoragePool pool;
  std::vector<CallSite> sites;
  std::vector<Tensor> constants;
};

namespace {

std::string function_list(const Executable& executable) {
  std::string text;
  for (const VmFunction& function : executable.functions) {
    if (!text.empty()) text += ", ";
    text += function.name;
  }
  return text.empty() ? "no function at all" : "one of " + text;
}

// Ok when every tensor in `value` lives on `session` and lies inside its storage.
Status check_home(const Value& value, const Session& session, const std::string& where) {
  if (const Tensor* tensor = value.tensor()) {
    if (!tensor->storage || &tensor->storage->session() != &session) {
      return fail(
          user_error("a tensor of " + where + " does not live on the machine's session", where));
    }
    TAPML_ASSIGN(int64_t bytes, checked_byte_count(tensor->dtype, tensor->shape));
    if (tensor->offset < 0 || tensor->offset > tensor->storage->bytes() ||
        bytes > tensor->storage->bytes() - tensor->offset) {
      return fail(user_error("a tensor of " + where + " lies outside of its storage", where));
    }
  }
  if (const ValueList* fields = value.tuple()) {
    for (const Value& field : *fields) TAPML_TRY(check_home(field, session, where));
  }
  return {};
}

}  // namespace

VirtualMachine::VirtualMachine() = default;
VirtualMachine::~VirtualMachine() = default;

Result<std::unique_ptr<VirtualMachine>> VirtualMachine::create(
    Session& session, std::shared_ptr<const Executable> executable) noexcept {
  TAPML_ASSIGN(auto runner, KernelRunner::create(session, std::move(executable)));
  std::unique_ptr<VirtualMachine> machine(new VirtualMachine);
  machine->state_ = std::make_unique<State>(session, std::move(runner));
  State& state = *machine->state_;
  const Executable& program = state.runner->executable();
  for (size_t i = 0; i < program.call_sites.size(); ++i) {
    const CallSiteInfo& info = program.call_sites[i];
    state.sites.push_back(CallSite{static_cast<int32_t>(i), &program.kernels[info.kernel],
                                   info.function, info.origin});
  }
  for (const HostTensor& constant : program.constants) {
    TAPML_ASSIGN(Tensor copy, upload(session, constant));
    state.constants.push_back(std::move(copy));
  }
  return machine;
}

Result<Value> VirtualMachine::call(std::string_view function,
                                   std::span<const Value> args) noexcept {
  const Executable& program = executable();
  const VmFunction* callee = program.find_function(function);
  if (!callee) {
    return fail(user_error("the executable has no function " + std::string(function), "",
                           function_list(program), std::string(function)));
  }
  if (args.size() != callee->params.size()) {
    return fail(user_error("a call of " + callee->name + " with another number of arguments",
                           "function " + callee->name,
                           std::to_string(callee->params.size()) + " arguments",
                           std::to_string(args.size())));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    TAPML_TRY(
        check_home(args[i], session(), "argument " + callee->params[i] + " of " + callee->name));
  }
  Execution execution(program, state_->point, state_->pool, state_->sites, state_->constants);
  Result<Value> result = execution.run(*callee, args);
  state_->pool.end_call();
  return result;
}

Session& VirtualMachine::session() const { return state_->session; }
const Executable& VirtualMachine::executable() const { return state_->runner->executable(); }
KernelRunner& VirtualMachine::runner() const { return *state_->runner; }
CallPoint& VirtualMachine::call_point() const { return state_->point; }
const std::vector<CallSite>& VirtualMachine::call_sites() const { return state_->sites; }
int64_t VirtualMachine::peak_bytes() const { return state_->pool.peak_bytes(); }

}  // namespace tapml::runtime
