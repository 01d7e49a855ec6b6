// Kernels that are not proved to stay within their buffers run in a separate process, so that a
// crash becomes an error that names the kernel.
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
  // For the executable on sessions of `target`. Returns null if all of its kernels may run in this
  // process: they are proved, `isolation.in_process` is set, or the sessions have a process of
  // their own anyway. Starts that process.
  static std::unique_ptr<ContainedKernels> open(std::shared_ptr<const Executable> executable,
                                                const target::Target& target,
                                                const LibraryFiles& libraries,
                                                const RemoteOptions& remote,
                                                const IsolationOptions& isolation);

  // Runs these kernels of `vm`, a VM of the executable, in that process from now on. This object
  // must outlive the VM.
  void attach(runtime::VirtualMachine& vm);

  Status call(const runtime::CallSite& site, runtime::Arguments args,
              std::span<const int64_t> scalars) noexcept override;

 private:
  ContainedKernels() = default;

  std::map<std::string, std::string> reasons_;  // by kernel
  std::unique_ptr<runtime::Session> session_;
  std::unique_ptr<runtime::KernelRunner> runner_;
  std::optional<runtime::Residency> residency_;
  std::optional<runtime::Offload> offload_;
};

}  // namespace tapml::app
