#include "app/contained_kernels.h"

#include "app/platforms.h"
#include "base/log.h"
#include "ir/exceptions.h"
#include "topdown/runner/deadline_session.h"

namespace tapml::app {

std::unique_ptr<ContainedKernels> ContainedKernels::open(
    std::shared_ptr<const Executable> executable, const target::Target& target,
    const LibraryFiles& libraries, const RemoteOptions& remote, const IsolationOptions& isolation) {
  if (isolation.in_process || has_own_process(target)) return nullptr;
  const std::vector<pipeline::UnprovedKernel> unproved = pipeline::unproved_kernels(*executable);
  if (unproved.empty()) return nullptr;
  std::unique_ptr<ContainedKernels> contained(new ContainedKernels);
  for (const pipeline::UnprovedKernel& one : unproved) {
    contained->reasons_[one.name] = one.reason;
    log_info("kernel " + one.name + " runs in a process of its own: " + one.reason);
  }
  contained->session_ = std::make_unique<topdown::DeadlineSession>(
      worker_opener(target, libraries, remote, isolation)(),
      std::chrono::milliseconds(static_cast<int64_t>(isolation.kernel_seconds * 1e3)),
      remote.interrupted);
  contained->runner_ =
      unwrap(runtime::KernelRunner::create(*contained->session_, std::move(executable)));
  contained->residency_.emplace(*contained->session_);
  contained->offload_.emplace(*contained->runner_, *contained->residency_);
  return contained;
}

void ContainedKernels::attach(runtime::VirtualMachine& vm) {
  unwrap(vm.set_dispatch(offload_->plan(vm.executable(),
                                        [&](const runtime::CallSite& site) {
                                          return reasons_.contains(site.kernel->name);
                                        }),
                         this));
}

Status ContainedKernels::call(const runtime::CallSite& site, runtime::Arguments args,
                              std::span<const int64_t> scalars) noexcept {
  Status status = offload_->call(site, args, scalars);
  if (status || status.error().kind != ErrorKind::kPlatform) return status;
  Error error = std::move(status).error();
  // A kernel with stray writes may have corrupted the process's reply.
  const bool crashed = error.fault == PlatformFault::kCrash ||
                       error.fault == PlatformFault::kLost ||
                       error.fault == PlatformFault::kProtocol;
  if (!crashed && error.fault != PlatformFault::kTimeout) return fail(std::move(error));
  constexpr std::string_view kProcess = "the session's process crashed: ";
  const std::string kernel = "kernel " + site.kernel->name;
  if (const size_t at = error.message.find(kProcess); at != std::string::npos) {
    error.message.erase(0, at + kProcess.size());
  }
  constexpr std::string_view kServer = "the server";
  if (error.where.starts_with(kServer)) error.where.replace(0, kServer.size(), "its own process");
  error.fault = crashed ? PlatformFault::kCrash : error.fault;
  error.message = kernel + (crashed ? " crashed: " : ": ") + error.message;
  error.found = reasons_[site.kernel->name];
  if (crashed) error.hint = "--in-process runs it in the program's own process, for a debugger";
  return fail(std::move(error));
}

}  // namespace tapml::app
