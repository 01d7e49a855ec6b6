// The smallest failing input of a kernel that can be found.
#pragma once

#include <chrono>
#include <optional>

#include "topdown/replay/replay.h"

namespace tapml::topdown {

// A suite of one kernel and one call.
struct SmallestCall {
  Suite suite;
  KernelVerdict verdict;                                                 // of that call
  std::vector<std::pair<std::string, int64_t>> dims_before, dims_after;  // symbolic, by name
  int64_t bytes_before = 0, bytes_after = 0;                             // of the inputs
  int64_t nonzero_before = 0, nonzero_after = 0;                         // elements of the inputs
  int64_t tries = 0;
  bool complete = true;  // false: time ran out before nothing more could be left out
};

struct ShrinkOptions {
  std::chrono::milliseconds time{10'000};
  std::function<bool()> cancelled;  // throws kCancelled once it says so; may be empty
};

// The suite's kernel of `call` and that call alone.
Suite one_call(const Suite& suite, size_t call);

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
