// Tensors of a session between memory that no kernel may write.
#pragma once

#include <string>

#include "exec/executable.h"
#include "runtime/tensor.h"

namespace tapml::topdown {

// Around every tensor, in bytes: many times what the strictest platform wants between bindings.
inline constexpr int64_t kGuardBytes = int64_t{64} << 10;
static_assert(kGuardBytes % kScratchAlignment == 0);

// What an output holds before the call. Not zero: what is not written shows.
inline constexpr std::byte kUnwritten{0x7b};

// A tensor like `like`, holding `content` or, where that is null, kUnwritten.
Result<runtime::Tensor> make_guarded(runtime::Session& session, const HostTensor& like,
                                     const HostTensor* content);

// The tensor's bytes. Adds to `out_of_bounds_writes`, where given, what around them is not as it
// was: "64 bytes behind y".
Result<HostTensor> read_guarded(const runtime::Tensor& tensor, const std::string& name,
                                std::string* out_of_bounds_writes);

// Adds to `out_of_bounds_writes` what of a tensor that held `before`, and around it, is not as it
// was: "4 bytes of x".
Status check_unchanged(const runtime::Tensor& tensor, const HostTensor& before,
                       const std::string& name, std::string& out_of_bounds_writes);

}  // namespace tapml::topdown
