// Checks of a kernel's arguments against its signature, before they reach a device.
#pragma once

#include "abi/device_info.h"
#include "runtime/tensor.h"

namespace tapml::runtime {

// Ok when there are as many arguments and scalars as the signature says; each argument lives on
// `session`, has the signature's dtype, rank and dimensions (computed from the scalars) and lies
// inside its storage; and no argument, but those in `segments`, is larger than a kernel of this
// device may bind. Else an
// InternalError, or a PlatformError (kLimit) for the last, that names kernel and parameter.
Status check_arguments(const KernelInfo& kernel, std::span<const Tensor> args,
                       std::span<const int64_t> scalars, std::span<const Segment> segments,
                       const Session& session) noexcept;

// Bytes of a tensor whose dimensions are programs over `scalars`.
Result<int64_t> param_bytes(const ParamInfo& param, std::span<const int64_t> scalars) noexcept;

// kLimit where `bytes` in one binding are more than the device allows.
Status check_binding(int64_t bytes, const Limits& limits, const std::string& where) noexcept;

}  // namespace tapml::runtime
