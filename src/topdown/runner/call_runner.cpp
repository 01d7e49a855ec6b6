#include "topdown/runner/call_runner.h"

#include "topdown/runner/guarded_tensor.h"

namespace tapml::topdown {

namespace {

const SuiteKernel& kernel_of(const Suite& suite, size_t call) {
  return suite.kernels[static_cast<size_t>(suite.calls[call].kernel)];
}

}  // namespace

void CallRunner::forget() {
  arguments_.clear();
  kept_.clear();
  kept_bytes_ = 0;
}

Status CallRunner::check(const Kept& kept, std::string& out_of_bounds_writes) const {
  const SuiteCall& call = suite_.calls[kept.call];
  return check_unchanged(kept.tensor, suite_.tensors.at(call.before[kept.param]),
                         kernel_of(suite_, kept.call).params[kept.param], out_of_bounds_writes);
}

Status CallRunner::make_arguments(size_t index, runtime::Session& session) {
  const SuiteCall& call = suite_.calls[index];
  const SuiteKernel& kernel = kernel_of(suite_, index);
  arguments_.clear();
  int64_t needed = 0;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.modes[i] != AccessMode::kIn || kept_.contains({call.before[i], i})) continue;
    needed += static_cast<int64_t>(suite_.tensors.at(call.before[i]).byte_size());
  }
  if (kept_bytes_ + needed > kMostKept && !kept_.empty()) {
    if (out_of_bounds_writes_.empty())
      TAPML_TRY(check_kept(out_of_bounds_writes_, out_of_bounds_call_));
    forget();
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const bool fresh = kernel.modes[i] == AccessMode::kOut;
    const HostTensor& known = suite_.tensors.at(fresh ? call.after[i] : call.before[i]);
    const Key key{call.before[i], i};
    if (kernel.modes[i] == AccessMode::kIn) {
      if (const auto found = kept_.find(key); found != kept_.end()) {
        arguments_.push_back(found->second.tensor);
        continue;
      }
    }
    TAPML_ASSIGN(runtime::Tensor argument, make_guarded(session, known, fresh ? nullptr : &known));
    arguments_.push_back(argument);
    if (kernel.modes[i] != AccessMode::kIn) continue;
    kept_.emplace(key, Kept{std::move(argument), index, i});
    kept_bytes_ += static_cast<int64_t>(known.byte_size());
  }
  return {};
}

Status CallRunner::enqueue(size_t index, runtime::KernelRunner& runner) {
  const SuiteKernel& kernel = kernel_of(suite_, index);
  const int32_t number = runner.executable().find_kernel(kernel.name);
  if (number < 0 || !runner.has(number)) {
    return fail(platform_error(PlatformFault::kLimit,
                               "the kernel has no code: it computes in a dtype that " +
                                   runner.executable().target + " lacks",
                               "kernel " + kernel.name));
  }
  TAPML_TRY(make_arguments(index, runner.session()));
  return runner.enqueue(number, arguments_, suite_.calls[index].scalars);
}

Result<std::vector<HostTensor>> CallRunner::run(size_t index, runtime::KernelRunner& runner,
                                                std::string* out_of_bounds_writes) {
  TAPML_TRY(enqueue(index, runner));
  const SuiteKernel& kernel = kernel_of(suite_, index);
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.modes[i] == AccessMode::kIn) continue;
    TAPML_ASSIGN(HostTensor output,
                 read_guarded(arguments_[i], kernel.params[i], out_of_bounds_writes));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Status CallRunner::check_kept(std::string& out_of_bounds_writes, size_t& call) {
  if (&out_of_bounds_writes != &out_of_bounds_writes_ && !out_of_bounds_writes_.empty()) {
    out_of_bounds_writes = out_of_bounds_writes_;
    call = out_of_bounds_call_;
    return {};
  }
  for (const auto& [key, kept] : kept_) {
    TAPML_TRY(check(kept, out_of_bounds_writes));
    if (out_of_bounds_writes.empty()) continue;
    call = kept.call;
    return {};
  }
  return {};
}

Result<std::vector<runtime::Tensor>> make_arguments(const Suite& suite, size_t index,
                                                    runtime::Session& session) {
  const SuiteCall& call = suite.calls[index];
  const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
  std::vector<runtime::Tensor> args;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const bool fresh = kernel.modes[i] == AccessMode::kOut;
    const HostTensor& known = suite.tensors.at(fresh ? call.after[i] : call.before[i]);
    TAPML_ASSIGN(runtime::Tensor arg, make_guarded(session, known, fresh ? nullptr : &known));
    args.push_back(std::move(arg));
  }
  return args;
}

Result<std::vector<HostTensor>> run_call(const Suite& suite, size_t call,
                                         runtime::KernelRunner& runner,
                                         std::string* out_of_bounds) {
  CallRunner calls(suite);
  TAPML_ASSIGN(std::vector<HostTensor> outputs, calls.run(call, runner, out_of_bounds));
  if (out_of_bounds && out_of_bounds->empty()) TAPML_TRY(calls.check_kept(*out_of_bounds, call));
  return outputs;
}

}  // namespace tapml::topdown
