// Checks of a kernel's arguments against its signature, before they reach a device.
#pragma once

#include "abi/device_info.h"
#include "runtime/call_point.h"

namespace tapml::runtime {

// Ok when there are as many arguments and scalars as the signature says; each argument lives on
// `session`, has the signature's dtype, rank and dimensions (computed from the scalars) and lies
// inside its storage; and no argument, but those in `segments`, is larger than a kernel of this
// device may bind. Else an
// InternalError, or a PlatformError (kLimit) for the last, that names kernel and parameter.
Status check_arguments(const KernelInfo& kernel, Arguments args, std::span<const int64_t> scalars,
                       std::span<const Segment> segments, const Session& session) noexcept;

// One of these: `arg` as `param` of `kernel`; `segmented`: it is bound in parts.
Status check_argument(const KernelInfo& kernel, const ParamInfo& param, const Tensor& arg,
                      std::span<const int64_t> scalars, bool segmented,
                      const Session& session) noexcept;

// The same checks of one kernel, laid out at load for the calls that pass them.
class ArgumentRules {
 public:
  ArgumentRules() = default;
  ArgumentRules(const KernelInfo& kernel, std::span<const Segment> segments,
                const Session& session);
  // Whether check_arguments() is sure to pass. False where it must be asked.
  bool fit(Arguments args, std::span<const int64_t> scalars) const noexcept;

 private:
  struct Param {
    const ParamInfo* info = nullptr;
    int64_t most_bytes = 0;  // that may be bound
    int64_t element_bytes = 0;
  };
  const Session* session_ = nullptr;
  size_t scalars_ = 0;
  std::vector<Param> params_;
};

// Bytes of a tensor whose dimensions are programs over `scalars`.
Result<int64_t> param_bytes(const ParamInfo& param, std::span<const int64_t> scalars) noexcept;

// kLimit where a value that the code of `launch` computes in narrow integers does not fit them;
// the message names kernel, value and limit.
Status check_launch(const KernelInfo& kernel, const LaunchInfo& launch,
                    std::span<const int64_t> scalars) noexcept;

// kLimit where `bytes` in one binding are more than the device allows.
Status check_binding(int64_t bytes, const Limits& limits, const std::string& where) noexcept;

}  // namespace tapml::runtime
