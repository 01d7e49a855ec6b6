// A tensor as a file of a suite (docs/suite-format.md).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::topdown {

// A safetensors file with the tensor as `data`; where at least half of the rows (of the outermost
// dimension) hold nothing but zero bytes, without these: `data` has the others, `rows` i64 says
// which they are, `shape` i64 what the tensor's is. Of a KV cache only the live pages are stored.
std::vector<std::byte> write_tensor_file(const HostTensor& tensor);

// Bytes of `data` there.
int64_t stored_bytes(const HostTensor& tensor);

// The whole tensor; a view of the file's bytes where that holds it whole. UserError that names
// `path` for a file that is not as write_tensor_file() makes it.
Result<HostTensor> read_tensor_file(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, const std::string& path);

}  // namespace tapml::topdown
