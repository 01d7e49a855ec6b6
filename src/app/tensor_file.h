// A tensor in a file that a user gives.
#pragma once

#include <string>

#include "tensor/host_tensor.h"

namespace tapml::app {

// The array of a .npy file, or the tensor `name` of a .npz or safetensors file. An empty name means
// the only tensor or, of several, that of `parameter`, which messages name. UserError for a file
// that cannot be read, and for a tensor that it lacks.
HostTensor read_tensor(const std::string& path, std::string name, const std::string& parameter);

}  // namespace tapml::app
