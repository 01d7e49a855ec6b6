// Finds the smallest failing input of a kernel.
#pragma once

#include <chrono>
#include <optional>

#include "topdown/results/localization.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

struct ShrinkOptions {
  std::chrono::milliseconds time{10'000};
  std::function<bool()> cancelled;  // throws kCancelled once it returns true; may be empty
};

// Whether both fail in the same way; false for a verdict that passed.
bool same_failure(const KernelVerdict& a, const KernelVerdict& b);

// Makes the call of suite `failing` (one_call) smaller as long as the target fails on it in the
// same way and the source computes it within its own bound: first symbolic dimensions, for which
// tensors are cut to their leading parts, then elements of the inputs become zero, and the
// remaining ones 1. `verdict` is the target's on the original call. Nothing if the source is wrong
// on the original call, since no smaller call would prove anything. Both sandboxes have the kernel
// loaded. Throws what they throw, and an InternalError for a verdict that passed.
std::optional<SmallestCall> shrink_call(const Suite& failing, const KernelVerdict& verdict,
                                        Sandbox& target, Sandbox& source,
                                        const ShrinkOptions& options = {});

}  // namespace tapml::topdown
