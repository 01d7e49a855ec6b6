// Profiles a run: calls, seconds, work and layers of every kernel.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/timing.h"
#include "topdown/profile/ceilings.h"
#include "topdown/profile/trace.h"

namespace tapml::topdown {

struct KernelProfile {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  CallWork work;                    // of all calls
  Origin origin;                    // of all calls
  std::set<std::string> functions;  // of the model that made the calls

  // The fraction of what the ceilings allow: the least time for the flops and bytes, over the time.
  // 0 if unknown.
  double share(const Ceilings& ceilings) const;
};

struct Profiled {
  std::string target;
  std::vector<KernelProfile> kernels;  // most expensive first
  double seconds = 0;                  // total
  Ceilings ceilings;
};

// Adds up the times that a VM reports (VirtualMachine::set_timing): the sum over kernels is the
// device's computing time, and less than the run, which is slower with timing.
class Profiler : public runtime::TimingSink {
 public:
  // The executable outlives it.
  explicit Profiler(const Executable& executable);

  Status timed(const runtime::TimedCall& call) noexcept override;

  // The kernels that ran, the most costly first.
  std::vector<KernelProfile> kernels() const;
  double seconds() const;  // sum over the kernels
  // The calls, each with the function of the model and its tensors.
  const TraceTrack& calls() const { return calls_; }

 private:
  void add(const runtime::TimedCall& call);

  const Executable& executable_;
  std::vector<KernelWork> work_;         // by the executable's kernel index
  std::vector<KernelProfile> profiles_;  // the same
  TraceTrack calls_{.name = "kernel calls of the model", .events = {}, .details = {}};
};

}  // namespace tapml::topdown
