#include "runtime/local_virtual_machine.h"

#include <ranges>

#include "base/strings.h"
#include "runtime/capture.h"
#include "runtime/dispatch.h"
#include "runtime/execution.h"
#include "runtime/scalars.h"
#include "runtime/session_errors.h"
#include "runtime/timing.h"
#include "runtime/value_check.h"

namespace tapml::runtime {

struct LocalVirtualMachine::State {
  State(Session& on, std::unique_ptr<KernelRunner> kernels)
      : session(on), runner(std::move(kernels)), point(*runner), pool(on) {}

  Session& session;
  std::unique_ptr<KernelRunner> runner;
  CallPoint point;
  StoragePool pool;
  std::vector<CallSite> sites;
  std::vector<Tensor> constants;
  std::vector<std::shared_ptr<Storage>> static_storages;
  HostFunctions functions;
  std::vector<const HostFunction*> packed;  // by index in the executable
  Execution execution{runner->executable(), session, point, pool, sites, constants,
                      static_storages,      packed};
  std::unique_ptr<Observer> observer;  // installed by set_capture() or set_timing()
  bool running = false;

  void observe(std::unique_ptr<Observer> next) {
    observer = std::move(next);
    point.set_observer(observer.get());
  }
};

namespace {

std::string function_list(const Executable& executable) {
  const std::string text = join(executable.functions, &VmFunction::name);
  return text.empty() ? "no functions" : "one of " + text;
}

std::string name_list(const HostFunctions& functions) {
  const std::string text = join(std::views::keys(functions));
  return text.empty() ? "no functions" : text;
}

}  // namespace

Result<std::unique_ptr<VirtualMachine>> Session::open_vm(
    std::shared_ptr<const Executable> executable, Deadline deadline) noexcept {
  return LocalVirtualMachine::create(*this, std::move(executable), {}, deadline);
}

LocalVirtualMachine::LocalVirtualMachine() = default;
LocalVirtualMachine::~LocalVirtualMachine() = default;

Result<std::unique_ptr<LocalVirtualMachine>> LocalVirtualMachine::create(
    Session& session, std::shared_ptr<const Executable> executable, HostFunctions functions,
    Deadline deadline) noexcept {
  TAPML_ASSIGN(auto runner, KernelRunner::create(session, std::move(executable),
                                                 BeyondLimits::kRefusesAll, deadline));
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): running out of these few bytes is fatal
  std::unique_ptr<LocalVirtualMachine> vm(new LocalVirtualMachine);
  vm->state_ = std::make_unique<State>(session, std::move(runner));
  State& state = *vm->state_;
  const Executable& program = state.runner->executable();
  state.sites = call_sites_of(program);
  state.functions = std::move(functions);
  for (const std::string& name : program.packed) {
    auto it = state.functions.find(name);
    if (it == state.functions.end() || !it->second) {
      return fail(user_error("the host has no function \"" + name + "\"", "extern \"" + name + "\"",
                             "one of " + name_list(state.functions), name,
                             "pass it to the VM when you create it"));
    }
    state.packed.push_back(&it->second);
  }
  std::vector<const HostTensor*> constants;
  for (const HostTensor& constant : program.constants) constants.push_back(&constant);
  TAPML_ASSIGN(state.constants, upload_contents(session, constants, kDefaultStream, deadline));
  for (int64_t bytes : program.static_storages) {
    if (passed(deadline)) return fail(past_deadline(session.info().platform));
    TAPML_ASSIGN(auto storage, Storage::allocate(session, bytes));
    state.static_storages.push_back(std::move(storage));
  }
  return vm;
}

Result<Value> LocalVirtualMachine::call(std::string_view function, std::span<const Value> args,
                                        Deadline deadline) noexcept {
  const Executable& program = executable();
  const VmFunction* callee = program.find_function(function);
  if (!callee) {
    return fail(user_error("the executable has no function " + std::string(function), "",
                           function_list(program), std::string(function)));
  }
  if (args.size() != callee->params.size()) {
    return fail(user_error("a call of " + callee->name + " has the wrong number of arguments",
                           "function " + callee->name,
                           std::to_string(callee->params.size()) + " arguments",
                           std::to_string(args.size())));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (lives_on(args[i], session())) continue;
    TAPML_TRY(
        check_home(args[i], session(), "argument " + callee->params[i] + " of " + callee->name));
  }
  if (state_->running) {
    return fail(user_error("the VM is called while it runs", "function " + callee->name, "", "",
                           "a host function may use only its arguments"));
  }
  state_->running = true;
  LocalSession* local = session().local();
  if (local) local->begin_batch(kDefaultStream);
  Result<Value> result = state_->execution.run(*callee, args, deadline);
  if (local) local->end_batch(kDefaultStream);
  state_->running = false;
  state_->pool.end_call();
  return result;
}

void LocalVirtualMachine::set_interrupt(const std::atomic<bool>* flag) noexcept {
  state_->execution.set_interrupt(flag);
}

Status LocalVirtualMachine::set_capture(const CapturePlan& plan, CaptureSink* sink) noexcept {
  TAPML_TRY(check_plan(executable(), plan));
  state_->observe(sink ? std::make_unique<CaptureObserver>(executable(), plan, *sink) : nullptr);
  return {};
}

Status LocalVirtualMachine::set_timing(TimingSink* sink) noexcept {
  state_->observe(sink ? std::make_unique<TimingObserver>(*sink) : nullptr);
  return {};
}

Status LocalVirtualMachine::set_dispatch(const DispatchPlan& plan,
                                         Dispatcher* dispatcher) noexcept {
  TAPML_ASSIGN(std::vector<bool> sites, dispatched_sites(executable(), plan));
  state_->point.set_dispatcher(dispatcher, std::move(sites));
  return {};
}

void LocalVirtualMachine::set_deadline(const Deadline& deadline) {
  state_->execution.set_deadline(deadline);
}

void LocalVirtualMachine::set_call_limit(int64_t calls) noexcept {
  state_->execution.set_call_limit(calls > 0 ? calls : std::numeric_limits<int64_t>::max());
}

Session& LocalVirtualMachine::session() const noexcept { return state_->session; }
const Executable& LocalVirtualMachine::executable() const noexcept {
  return state_->runner->executable();
}
CallPoint& LocalVirtualMachine::call_point() const { return state_->point; }
const std::vector<CallSite>& LocalVirtualMachine::call_sites() const { return state_->sites; }
int64_t LocalVirtualMachine::peak_bytes() const { return state_->pool.peak_bytes(); }

}  // namespace tapml::runtime
