// NumPy's files: an array (.npy) and an archive of arrays (.npz).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml {

// The array of a .npy file of version 1, 2 or 3. Little-endian numbers and truth values in C or
// Fortran order; NumPy has no bf16. UserError that names `source` for anything else. The bytes are
// copied.
Result<HostTensor> parse_npy(std::span<const std::byte> bytes, std::string_view source);

// The arrays of a .npz file by name, without ".npy". Stored files only, as numpy.savez writes them:
// UserError for compressed ones, for archives beyond 4 GiB, and for what is no archive.
Result<std::map<std::string, HostTensor>> parse_npz(std::span<const std::byte> bytes,
                                                    std::string_view source);

}  // namespace tapml
