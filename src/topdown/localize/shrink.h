// The smallest failing input of a kernel that can be found.
#pragma once

#include <chrono>
#include <optional>

#include "topdown/results/localization.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

struct ShrinkOptions {
  std::chrono::milliseconds time{10'000};
  std::function<bool()> cancelled;  // throws kCancelled once it says so; may be empty
};

// Whether both are the same kind of failure; a verdict that passed is none.
bool same_failure(const KernelVerdict& a, const KernelVerdict& b);

// Makes the call of suite `failing` (one_call) smaller as long as the target fails on it in the
// same way and the source computes it within its own bound: symbolic dimensions first, for which
// tensors are cut to their leading parts, then elements of the inputs become zero, and what is left
// one. `verdict` is what the target made of the call as it is. Nothing where the source is wrong on
// that: no smaller call would be a fair question. Both sandboxes have the kernel loaded. Throws
// what they throw, and an InternalError for a verdict that passed.
std::optional<SmallestCall> shrink_call(const Suite& failing, const KernelVerdict& verdict,
                                        Sandbox& target, Sandbox& source,
                                        const ShrinkOptions& options = {});

}  // namespace tapml::topdown
