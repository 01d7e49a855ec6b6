// Replaying carved tests on a target, judged at operator level.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "base/work.h"
#include "pipeline/compile.h"
#include "runtime/call_point.h"
#include "topdown/replay/call_groups.h"
#include "topdown/replay/sandbox.h"
#include "topdown/suite/suite.h"
#include "topdown/verdict/compare.h"
#include "topdown/verdict/difference_map.h"

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
const char* failure_name(Failure failure);  // "none", "cannot run", "crash", "timeout", ...
// Whether an error says that a call cannot be made, which is a verdict of the kernel.
bool is_refusal(const Error& error);
// Of an error that a sandbox contains.
Failure failure_of(const Error& contained);

// How a kernel is launched for a verdict.
struct ReplayOptions {
  // So often at least, over its calls: each once, then all of them again in another order, and so
  // on. Between them other kernels run that are known to be right, where the suite has calls of
  // them.
  int64_t launches = 20;
  uint64_t seed = 0;  // of the orders
  // What more launches than one a call may take, or half as long as those one a call took, judged.
  double seconds = 0.25;
};

// What came of them.
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
  int64_t mask_mismatches = 0;  // elements that are NaN or infinite in the source or the judge only
};

// What a verdict of a group of kernels is about.
struct JudgedGroup {
  size_t index = 0;  // in the suite's groups
  std::string source;
  std::vector<std::string> kernels;          // each once, in the order in which they run
  std::vector<std::string> inputs, outputs;  // its borders, in the source's words
};

// What the tests of one kernel say, or what one group of kernels does.
struct KernelVerdict {
  std::string kernel;  // of a group all of them, joined by " + "
  std::optional<JudgedGroup> group;
  Origin origin;  // all layers behind its calls
  int64_t calls = 0;
  std::set<std::string> shapes;  // of the first output
  Comparison worst;              // of the call and output than which none is_worse()
  std::string worst_output;      // parameter name
  int64_t worst_sequence = -1;   // position of that call in the run
  // Of that output, where it is outside of its bound.
  std::optional<DifferenceMap> difference;
  std::vector<CallGroup> groups;  // the calls, in the order of the run
  // Elements judged of how many; fewer than all above Judge::kSampleAbove.
  int64_t judged = 0, elements = 0;
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
void judge_source(KernelVerdict& verdict, const Errors& source, const std::string& output,
                  int64_t sequence);

// Evaluates specs in f64; remembers each call's answer, so that several targets share it.
class Judge {
 public:
  // Multiply-adds of a call above which only a sample of its output is judged.
  static constexpr int64_t kSampleAbove = 20'000'000;
  static constexpr int64_t kSampleSize = 4096;

  explicit Judge(const Suite& suite, int64_t sample_above = kSampleAbove);
  // The kernel's outputs after `call` (index into the suite's calls), one per out or inout
  // parameter, in the parameters' order. Above the limit, the elements where source and `target`
  // (the target's outputs, same order) differ most are judged, and as many random ones.
  std::vector<op::RefTensor> outputs(size_t call, const std::vector<HostTensor>& target);
  // The same of other inputs, which may be off by their bounds: one per in or inout parameter. Not
  // remembered.
  std::vector<op::RefTensor> evaluate(const SuiteCall& call,
                                      std::vector<op::RefTensor> inputs) const {
    return evaluate(call, std::move(inputs), {});
  }
  // False for a kernel that only calls a library routine: its outputs() are the source's.
  bool has_specification(int32_t kernel) const;
  // Called now and then while outputs() evaluates; what it throws ends that.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }
  // Told how far each kernel's launches are; empty: nobody is.
  void set_watcher(WorkWatcher watcher) { watcher_ = std::move(watcher); }
  const WorkWatcher& watcher() const { return watcher_; }
  // Widen the bounds of the kernels that they describe.
  void set_tolerances(Tolerances tolerances) { tolerances_ = std::move(tolerances); }
  const Tolerances& tolerances() const { return tolerances_; }
  // The kernels as a Module whose boundaries are fixed: what a target implements.
  const Module& module() const { return module_; }

 private:
  std::vector<op::RefTensor> source_outputs(const SuiteCall& call) const;
  // `wanted`: flags of the elements that count, or empty.
  std::vector<op::RefTensor> evaluate(const SuiteCall& call, std::vector<op::RefTensor> inputs,
                                      std::vector<uint8_t> wanted) const;
  std::vector<uint8_t> sample(size_t call, const std::vector<HostTensor>& target) const;

  const Suite& suite_;
  int64_t sample_above_;
  std::function<void()> poll_;
  WorkWatcher watcher_;
  Tolerances tolerances_;
  Module module_;
  std::map<size_t, std::vector<op::RefTensor>> answers_;
};

// Runs kernels in the sandbox. A crash that comes again in a fresh process and a
// hang are `failed` of the verdict, beside the error; `run` may set it itself, and may be called
// again.
Status run_contained(Sandbox& sandbox, KernelVerdict& verdict,
                     const std::function<Status(runtime::KernelRunner&)>& run);

// "3 of 20 launches were wrong, ..."; empty where there is nothing to tell.
std::string launches_text(const LaunchCount& count);

// Runs kernel `kernel` of the suite on `runner` for every carved call. A platform error stays an
// error; a kernel that cannot run is a verdict. UserError where the suite has no call of it.
// Outputs of the first launch of each call are judged; those of later ones where they differ.
Result<KernelVerdict> replay_kernel(const Suite& suite, Judge& judge, int32_t kernel,
                                    runtime::KernelRunner& runner,
                                    const ReplayOptions& options = {});
// All calls in a sandbox, where a hang is a verdict, too, and so is a crash: of a process that has
// run no other kernel under test, or that comes again in a fresh one. Kernels after it run in
// another session. May throw as Sandbox does.
Result<KernelVerdict> replay_kernel(const Suite& suite, Judge& judge, int32_t kernel,
                                    Sandbox& sandbox, const ReplayOptions& options = {});
// The same for one carved call (index into the suite's calls) alone.
Result<KernelVerdict> replay_call(const Suite& suite, Judge& judge, size_t call, Sandbox& sandbox,
                                  const ReplayOptions& options = {});

// The arguments of the suite's call on `session`, one a parameter: inputs as they were, outputs
// that hold garbage, each with memory around it that is watched.
Result<std::vector<runtime::Tensor>> make_arguments(const Suite& suite, size_t call,
                                                    runtime::Session& session);
// Outputs of the suite's call on `runner`, one per out or inout parameter. `out_of_bounds_writes`,
// where given, is told what else was written: the memory around the tensors ("64 bytes behind y")
// and the inputs
// ("4 bytes of x").
Result<std::vector<HostTensor>> run_call(const Suite& suite, size_t call,
                                         runtime::KernelRunner& runner,
                                         std::string* out_of_bounds_writes = nullptr);

}  // namespace tapml::topdown
