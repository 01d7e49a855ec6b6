// What printer and parser agree on.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tensor/host_tensor.h"

namespace tapml::text {

// Deepest nesting of statements, of scalar expressions and of graph expressions, each. Trees below
// are printed and parsed by recursion; deeper ones are refused with a message.
constexpr int kMaxNesting = 1000;
// That many nested nodes with a leaf inside.
constexpr int kMaxLevels = kMaxNesting + 1;

// Constants of more bytes than this stand in a side file, named by their content hash.
constexpr size_t kInlineConstantBytes = 1024;

// Tensors of the side file by content hash (tensor/host_tensor.h), kept as safetensors.
using SideTensors = std::map<std::string, HostTensor>;

}  // namespace tapml::text
