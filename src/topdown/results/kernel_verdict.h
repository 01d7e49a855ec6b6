// What the tests of one kernel say.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "abi/origin.h"
#include "topdown/reference_run/compare.h"
#include "topdown/reference_run/difference_map.h"
#include "topdown/results/call_groups.h"

namespace tapml::topdown {

// Why a kernel's outputs could not be judged.
enum class Failure : uint8_t {
  kNone,
  kRefused,      // it cannot be run: a limit, a signature
  kCrash,        // it ends its process
  kTimeout,      // it does not end
  kOutOfBounds,  // it writes beside its outputs, or into an input
  kSideEffect,   // it writes to a standard stream, or leaves the processor in another state
};
inline constexpr Failure kLastFailure = Failure::kSideEffect;
const char* failure_name(Failure failure);  // "none", "cannot run", "crash", "timeout", ...

// What came of the launches of a kernel.
struct LaunchCount {
  int64_t launches = 0;
  int64_t wrong = 0;    // outputs outside of their bounds, a crash, ...
  int64_t unequal = 0;  // other outputs, bit by bit, than the first launch of the same call
  uint64_t seed = 0;
  bool flaky = false;  // a call was right in one launch and wrong in another
  bool cut = false;    // there was no time for all
};

// Where the source is farthest outside of its own bound.
struct SourceError {
  std::string output;  // parameter name
  int64_t sequence = -1;
  double error = 0, bound = 0, ratio = 0;
  int64_t mask_mismatches =
      0;  // elements that are NaN or infinite in the source or the reference only
};

// What a verdict of a group of kernels is about.
struct ComparedGroup {
  size_t index = 0;  // in the suite's groups
  std::string source;
  std::vector<std::string> kernels;          // each once, in the order in which they run
  std::vector<std::string> inputs, outputs;  // its borders, in the source's words
};

// What the tests of one kernel say, or what one group of kernels does.
struct KernelVerdict {
  std::string kernel;  // of a group all of them, joined by " + "
  std::optional<ComparedGroup> group;
  Origin origin;  // all layers behind its calls
  int64_t calls = 0;
  std::set<std::string> shapes;  // of the first output
  Comparison worst;              // of the call and output than which none is_worse()
  std::string worst_output;      // parameter name
  int64_t worst_sequence = -1;   // position of that call in the run
  // Of that output, where it is outside of its bound.
  std::optional<DifferenceMap> difference;
  std::vector<CallGroup> groups;  // the calls, in the order of the run
  // Elements judged of how many; fewer than all above KernelReference::kSampleAbove.
  int64_t compared = 0, elements = 0;
  bool source_wrong = false;
  std::optional<SourceError> source_error;  // where it is; verdicts of older states have none
  bool passed = true;
  // The kernel only calls a library routine: nothing but the source's output says what is right.
  bool against_source = false;
  Failure failed = Failure::kNone;
  std::string failure;   // what happened, where `failed` says so
  std::string note;      // what a reader should know beside that
  std::string provider;  // how the target implements it
  LaunchCount launches;
  double seconds = 0;                  // running and judging
  std::optional<Tolerance> tolerance;  // that its bounds were widened by
  bool tolerated = false;              // it passes only with that
};

// Takes the source's own errors on an output into the verdict.
void check_source(KernelVerdict& verdict, const Errors& source, const std::string& output,
                  int64_t sequence);

// "3 of 20 launches were wrong, ..."; empty where there is nothing to tell.
std::string launches_text(const LaunchCount& count);

// "pass", "mismatch", or what failed.
std::string verdict_outcome(const KernelVerdict& verdict);
// The file of the user's own kernel that was judged; empty: it came from elsewhere.
std::string user_file(const KernelVerdict& verdict);

}  // namespace tapml::topdown
