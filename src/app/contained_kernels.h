// Kernels that nobody has shown to stay inside of their buffers run in a process of their own, so
// that a crash is an error that names the kernel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/isolation.h"
#include "pipeline/unproved_kernels.h"
#include "runtime/offload.h"
#include "runtime/virtual_machine.h"

namespace tapml::app {

class ContainedKernels final : public runtime::Dispatcher {
 public:
  // For the executable on sessions of `target`: null where all of its kernels may run in this
  // process: they are proved, `isolation.in_process` says so, or the sessions have a process of
  // their own anyway. Starts that process.
  static std::unique_ptr<ContainedKernels> open(std::shared_ptr<const Executable> executable,
                                                const target::Target& target,
                                                const LibraryFiles& libraries,
                                                const RemoteOptions& remote,
                                                const IsolationOptions& isolation);

  // From now on these kernels of the machine, which is one of the executable, run there. This
  // outlives the machine.
  void attach(runtime::VirtualMachine& vm);

  Status call(const runtime::CallSite& site, runtime::Arguments args,
              std::span<const int64_t> scalars) noexcept override;

 private:
  ContainedKernels() = default;

  std::map<std::string, std::string> reasons_;  // by kernel
  std::unique_ptr<runtime::Session> session_;
  std::unique_ptr<runtime::KernelRunner> runner_;
  std::optional<runtime::Residency> there_;
  std::optional<runtime::Offload> offload_;
};

}  // namespace tapml::app
