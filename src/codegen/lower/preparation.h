// What of a kernel can be done once, when weights are loaded.
#pragma once

#include <string>
#include <vector>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

struct Preparation {
  std::vector<bool> workspaces;  // by workspace: holds what depends on weights alone
  std::vector<bool> launches;    // by launch: fills nothing but those, from nothing but weights
  // 16 hexadecimal digits that cover all of it: launches and their tensors, not their names. Empty
  // where nothing can be prepared.
  std::string digest;
};

// `weights`: numbers of the parameters (of `params`) that hold weights at every call. Prepared are
// workspaces of constant shape that no launch writes which reads anything but weights and such
// workspaces, or depends on a scalar. Where all of them are larger than twice the weights that they
// are made of, nothing is prepared: memory that lives as long as the model is worth more than time.
Preparation find_preparation(const LoweredKernel& lowered, size_t params,
                             const std::vector<int64_t>& weights);

}  // namespace tapml::codegen
