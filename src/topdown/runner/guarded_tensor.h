// Tensors of a session between memory that no kernel may write.
#pragma once

#include <string>

#include "exec/executable.h"
#include "runtime/tensor.h"

namespace tapml::topdown {

// Bytes around every tensor: many times the alignment that the strictest platform requires of
// bindings.
inline constexpr int64_t kGuardBytes = int64_t{64} << 10;
static_assert(kGuardBytes % kScratchAlignment == 0);

// Fills an output before the call. It is not zero, so that missing writes show.
inline constexpr std::byte kUnwritten{0x7b};

// A tensor like `like`, filled with `content` or, if that is null, with kUnwritten.
Result<runtime::Tensor> make_guarded(runtime::Session& session, const HostTensor& like,
                                     const HostTensor* content);

// The tensor's bytes. Appends changes around them to `out_of_bounds_writes`, if given: "64 bytes
// after y".
Result<HostTensor> read_guarded(const runtime::Tensor& tensor, const std::string& name,
                                std::string* out_of_bounds_writes);

// Appends changes in and around a tensor that held `before` to `out_of_bounds_writes`: "4 bytes of
// x".
Status check_unchanged(const runtime::Tensor& tensor, const HostTensor& before,
                       const std::string& name, std::string& out_of_bounds_writes);

}  // namespace tapml::topdown
