// The result of the tests of one kernel.
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

// Why a kernel's outputs could not be compared.
enum class Failure : uint8_t {
  kNone,
  kRefused,      // the call is refused: a limit, a signature
  kCrash,        // the process ends
  kTimeout,      // the kernel does not end
  kOutOfBounds,  // it writes next to its outputs, or into an input
  kSideEffect,   // it writes to a standard stream, or changes the processor's state
};
inline constexpr Failure kLastFailure = Failure::kSideEffect;
const char* failure_name(Failure failure);  // "none", "cannot run", "crash", "timeout", ...

// The launches of a kernel and their results.
struct LaunchCount {
  int64_t launches = 0;
  int64_t wrong = 0;    // outputs outside of their bounds, a crash, ...
  int64_t unequal = 0;  // other outputs, bit by bit, than the first launch of the same call
  uint64_t seed = 0;
  bool flaky = false;  // a call was right in one launch and wrong in another
  bool cut = false;    // time ran out before all launches
};

// The source's largest error outside its own bound.
struct SourceError {
  std::string output;  // parameter name
  int64_t sequence = -1;
  double error = 0, bound = 0, ratio = 0;
  int64_t mask_mismatches =
      0;                  // elements that are NaN or infinite in the source or the reference only
  std::string imprecise;  // how (precision_text), if each element is within its bound
};

// The group of kernels that a verdict is about.
struct ComparedGroup {
  size_t index = 0;  // in the suite's groups
  std::string source;
  std::vector<std::string> kernels;          // each once, in the order in which they run
  std::vector<std::string> inputs, outputs;  // of the group, in the source's words
};

// Elements of an output, in all calls.
struct ElementCount {
  std::string output;    // parameter name; in a group after the kernel's: "add.y"
  int64_t elements = 0;  // those that exist
  int64_t compared = 0;  // fewer than all above KernelReference::kSampleAbove
  int64_t open = 0;      // of those compared, the ones with a bound that any value meets
};

// The result of the tests of one kernel, or of one group of kernels.
struct KernelVerdict {
  std::string kernel;  // the kernels of a group, joined by " + "
  std::optional<ComparedGroup> group;
  Origin origin;  // all layers that its calls come from
  int64_t calls = 0;
  std::set<std::string> shapes;  // of the first output
  Comparison worst;              // no other call and output is_worse() than this one
  std::string worst_output;      // parameter name
  int64_t worst_sequence = -1;   // position of that call in the run
  // Of that output, if it is outside its bound.
  std::optional<DifferenceMap> difference;
  std::vector<CallGroup> groups;  // the calls, in the order of the run
  std::vector<ElementCount> outputs;
  bool source_wrong = false;
  std::optional<SourceError> source_error;  // if it is wrong; missing in older states
  bool passed = true;
  // The kernel only calls a library routine, so only the source's output is known to compare with.
  bool against_source = false;
  Failure failed = Failure::kNone;
  std::string failure;   // details of `failed`
  std::string note;      // more that a reader should know
  std::string provider;  // how the target implements it
  LaunchCount launches;
  double seconds = 0;                  // for running and comparing
  std::optional<Tolerance> tolerance;  // that widened its bounds
  bool tolerated = false;              // it passes only with `tolerance`
  // The allowances of the target that it needs to pass, or that it fails with (allowances_text).
  std::string allowances;

  ElementCount total() const;  // over all outputs
  // Whether it passed, and each output has an element with a bound.
  bool proven() const;
};

// Adds the elements of an output of one call.
void count_elements(KernelVerdict& verdict, const std::string& output, int64_t elements,
                    const Errors& target);
// "no element of y has a bound", "3 of 4096 elements have no bound"; empty: each has one.
std::string open_text(const KernelVerdict& verdict);

// Adds the source's own errors on an output to the verdict.
void check_source(KernelVerdict& verdict, const Errors& source, const std::string& output,
                  int64_t sequence);

// "3 of 20 launches were wrong, ..."; empty if there is nothing to report.
std::string launches_text(const LaunchCount& count);

// "pass", "not proven", "mismatch", "imprecise", or what failed.
std::string verdict_outcome(const KernelVerdict& verdict);
// Whether any call was compared with the reference.
bool was_compared(const KernelVerdict& verdict);
// The file of the custom kernel that was tested; empty: it is not a custom kernel.
std::string user_file(const KernelVerdict& verdict);

}  // namespace tapml::topdown
