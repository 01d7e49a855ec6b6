// Checks a kernel's arguments against its signature before a launch.
#pragma once

#include "abi/device_info.h"
#include "runtime/call_point.h"

namespace tapml::runtime {

// Ok if there are as many arguments and scalars as the signature requires; each argument is on
// `session`, has the signature's dtype, rank and dimensions (computed from the scalars) and is
// inside its storage; and no argument, except those in `segments`, exceeds the device's binding
// limit. Else an InternalError, or a PlatformError (kLimit) for the last condition, that names
// kernel and parameter.
Status check_arguments(const KernelInfo& kernel, Arguments args, std::span<const int64_t> scalars,
                       std::span<const Segment> segments, const Session& session) noexcept;

// Checks one of them: `arg` as `param` of `kernel`; `segmented`: it is bound in parts.
Status check_argument(const KernelInfo& kernel, const ParamInfo& param, const Tensor& arg,
                      std::span<const int64_t> scalars, bool segmented,
                      const Session& session) noexcept;

// The same checks of one kernel, precomputed at load, as a fast path for passing calls.
class ArgumentRules {
 public:
  ArgumentRules() = default;
  ArgumentRules(const KernelInfo& kernel, std::span<const Segment> segments,
                const Session& session);
  // Whether check_arguments() is certain to pass. If false, call it.
  bool fit(Arguments args, std::span<const int64_t> scalars) const noexcept;

 private:
  struct Param {
    const ParamInfo* info = nullptr;
    int64_t most_bytes = 0;  // maximum bytes of a binding
    int64_t element_bytes = 0;
  };
  const Session* session_ = nullptr;
  size_t scalars_ = 0;
  std::vector<Param> params_;
};

// Bytes of a tensor whose dimensions are programs over `scalars`.
Result<int64_t> param_bytes(const ParamInfo& param, std::span<const int64_t> scalars) noexcept;

// kLimit if a value that the code of `launch` computes in narrow integers does not fit; the message
// names kernel, value and limit.
Status check_launch(const KernelInfo& kernel, const LaunchInfo& launch,
                    std::span<const int64_t> scalars) noexcept;

// kLimit if `bytes` in one binding exceed the device's limit.
Status check_binding(int64_t bytes, const Limits& limits, const std::string& where) noexcept;

}  // namespace tapml::runtime
