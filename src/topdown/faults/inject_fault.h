// Injected faults: changes of a target's implementation that a migration must find. Verdicts,
// hybrid runs and reports never see that something was planted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "target/target.h"
#include "topdown/faults/fault_kinds.h"
#include "topdown/reference_run/kernel_reference.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

struct FaultyKernel {
  std::string kernel;
  FaultKind kind;
  tir::PrimFuncRef implementation;
  int site = 0;  // number of the site among those of this kind
};

// The suite's kernel into which a bug is planted, as find_kernel() finds it; UserError.
std::string faulty_kernel(const Suite& suite, const std::string& wanted);

// The first site that changes an output of the carved calls of `kernel` (as
// faulty_kernel() finds it) on the target, or that crashes there; a hang is taken on
// trust. Sites are tried in order, or with a seed in an order drawn from it. UserError when there
// is no such kernel, when no site bites (it then names a few kinds that do), for a crash in a
// platform of this process, and for bugs of the runtime. PlatformError (kCancelled) between two
// sites once `cancelled` says so.
FaultyKernel inject_fault(const Suite& suite, KernelReference& reference, const std::string& kernel,
                          FaultKind kind, Sandbox& sandbox,
                          const std::function<bool()>& cancelled = {}, uint64_t seed = 0);

// Outputs of all carved calls of `kernel` on what the sandbox has loaded.
std::vector<HostTensor> carved_outputs(const Suite& suite, const std::string& kernel,
                                       Sandbox& sandbox);

bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b);

}  // namespace tapml::topdown
