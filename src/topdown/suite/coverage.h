// Which kernels a run may launch, and which of these have no test.
#pragma once

#include <string>
#include <vector>

#include "exec/executable.h"
#include "runtime/session.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Functions of a language model that a generation calls on a device: what runs the model, and what
// chooses tokens (by drawing where there is a temperature, unless the device cannot).
std::vector<std::string> generation_functions(const Executable& executable, double temperature,
                                              const DeviceInfo& device);

// The kernels that `functions` of the executable and the functions that these call may launch, each
// with the layers of all of its call sites, in the executable's order. A function that the
// executable does not have calls none.
std::vector<KernelUse> called_kernels(const Executable& executable,
                                      const std::vector<std::string>& functions);

// Those of `kernels` of which the suite has neither a call nor a group.
std::vector<KernelUse> untested_kernels(const std::vector<KernelUse>& kernels, const Suite& suite);

// All that a suite has no test of: what it says itself, and kernels whose calls it does not keep.
std::vector<KernelUse> untested_kernels(const Suite& suite);

// "2 kernels are untested: draw_token_1a2b3c4d (lm_head), topk_5e6f7a8b"; empty for none. At most
// `most` are named.
std::string untested_text(const std::vector<KernelUse>& untested, size_t most = 100);
// Names alone.
std::vector<std::string> names_of(const std::vector<KernelUse>& kernels);

}  // namespace tapml::topdown
