// Constants and types that the printer and the parser share.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tensor/host_tensor.h"

namespace tapml::text {

// Maximum nesting of statements, of scalar expressions and of graph expressions. Printer and parser
// are recursive; deeper nesting is an error.
constexpr int kMaxNesting = 1000;
// kMaxNesting nested nodes and a leaf.
constexpr int kMaxLevels = kMaxNesting + 1;

// Larger constants, in bytes, are stored in a side file, named by their content hash.
constexpr size_t kInlineConstantBytes = 1024;

// Tensors of the side file by content hash (tensor/host_tensor.h), stored as safetensors.
using SideTensors = std::map<std::string, HostTensor>;

}  // namespace tapml::text
