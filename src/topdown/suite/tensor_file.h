// A tensor as a file of a suite (docs/suite-format.md).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::topdown {

// A safetensors file with the tensor as `data`. If at least half of the rows (of the outermost
// dimension) are all zero bytes, they are omitted: `data` has the others, `rows` (i64) their
// indices, and `shape` (i64) the tensor's shape. Of a KV cache only the live pages are stored.
std::vector<std::byte> write_tensor_file(const HostTensor& tensor);

// Bytes of `data` in that file.
int64_t stored_bytes(const HostTensor& tensor);

// The whole tensor; a view of the file's bytes if they hold it whole. UserError that names `path`
// for a file that is not as write_tensor_file() makes it.
Result<HostTensor> read_tensor_file(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, const std::string& path);

}  // namespace tapml::topdown
