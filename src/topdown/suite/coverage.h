// The kernels that a run may launch, and those of them that have no test.
#pragma once

#include <string>
#include <vector>

#include "exec/executable.h"
#include "runtime/session.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Functions of a language model that generation calls on a device: those that run the model, and
// those that choose tokens (by drawing with a temperature, unless the device cannot). Without
// images the function that reads them is not called. Of an encoder: "embed".
std::vector<std::string> generation_functions(const Executable& executable, double temperature,
                                              const DeviceInfo& device, bool has_images = false);

// The kernels that `functions` and the functions they call may launch, each with the layers of all
// of its call sites, in the executable's order. Functions that the executable lacks are ignored.
std::vector<KernelUse> called_kernels(const Executable& executable,
                                      const std::vector<std::string>& functions);

// Those of `kernels` with neither a call nor a group in the suite.
std::vector<KernelUse> untested_kernels(const std::vector<KernelUse>& kernels, const Suite& suite);

// All kernels without a test: those that the suite lists, and those whose calls it does not keep.
std::vector<KernelUse> untested_kernels(const Suite& suite);

// "2 kernels are untested: draw_token_1a2b3c4d (lm_head), topk_5e6f7a8b"; empty for none. Names at
// most `most` kernels.
std::string untested_text(const std::vector<KernelUse>& untested, size_t most = 100);
std::vector<std::string> names_of(const std::vector<KernelUse>& kernels);

}  // namespace tapml::topdown
