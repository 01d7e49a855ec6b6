// Injected faults: changes of a target's implementation that a migration must find. Verdicts,
// hybrid runs and reports do not know about them.
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
  int site = 0;  // index of the site among those of this kind
};

// The suite's kernel into which a fault is injected, as find_kernel() finds it; UserError.
std::string faulty_kernel(const Suite& suite, const std::string& wanted);

// The first site that changes an output of the carved calls of `kernel` (as faulty_kernel() finds
// it) on the target, or that crashes there; a hang is assumed. Tries sites in order, or with a seed
// in a random order. UserError if there is no such kernel, if no site has an effect (it then names
// a few kinds that do), for a crash in a platform of this process, and for faults of the runtime.
// PlatformError (kCancelled) between two sites once `cancelled` returns true.
FaultyKernel inject_fault(const Suite& suite, KernelReference& reference, const std::string& kernel,
                          FaultKind kind, Sandbox& sandbox,
                          const std::function<bool()>& cancelled = {}, uint64_t seed = 0);

// Outputs of all carved calls of `kernel` with the executable that the sandbox has loaded.
std::vector<HostTensor> carved_outputs(const Suite& suite, const std::string& kernel,
                                       Sandbox& sandbox);

bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b);

}  // namespace tapml::topdown
