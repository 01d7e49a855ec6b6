// NumPy file formats: an array (.npy) and an archive of arrays (.npz).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml {

// The array of a .npy file of version 1, 2 or 3. Supports little-endian numbers and bools in C or
// Fortran order; NumPy has no bf16. UserError that names `source` for anything else. Copies the
// bytes.
Result<HostTensor> parse_npy(std::span<const std::byte> bytes, std::string_view source);

// The arrays of a .npz file by name, without ".npy". Supports only uncompressed files, as
// numpy.savez writes them: UserError for compressed ones, for archives beyond 4 GiB, and for
// non-archives.
Result<std::map<std::string, HostTensor>> parse_npz(std::span<const std::byte> bytes,
                                                    std::string_view source);

}  // namespace tapml
