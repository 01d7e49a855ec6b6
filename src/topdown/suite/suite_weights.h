// Weights that a suite refers to, in its model.
#pragma once

#include <map>
#include <string>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// By content hash, the weights that the suite's calls name: read from its model_folder, quantized
// as its `quantization` says, and compared with their hashes. UserError, which names `file` and the
// weight, if the model is not found, or has no such weight, or another one under that name.
Result<std::map<std::string, HostTensor>> weights_by_reference(const Suite& suite,
                                                               const std::string& file);

}  // namespace tapml::topdown
