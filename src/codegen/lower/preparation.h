// The part of a kernel that can run once, when weights are loaded.
#pragma once

#include <string>
#include <vector>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

struct Preparation {
  std::vector<bool> workspaces;  // for each workspace: depends only on weights
  std::vector<bool> launches;    // for each launch: writes only those, from weights alone
  // 16 hexadecimal digits, a hash of the launches and their tensors without names. Empty if nothing
  // can be prepared.
  std::string digest;
};

// `weights`: indices of the parameters (of `params`) that hold weights at every call. A workspace
// of constant shape is prepared if every launch that writes it reads only weights and such
// workspaces and uses no scalar. Nothing is prepared if they take more than twice the memory of
// their weights: memory that is held as long as the model is worth more than the time saved.
Preparation find_preparation(const LoweredKernel& lowered, size_t params,
                             const std::vector<int64_t>& weights);

}  // namespace tapml::codegen
