// Where a run spends its time: calls, seconds, work and layers of every kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/vm.h"
#include "topdown/profile/ceilings.h"
#include "topdown/profile/trace.h"

namespace tapml::topdown {

struct KernelProfile {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  Work work;                        // of all calls
  std::vector<std::string> layers;  // that the calls came from, in order of appearance

  // Share of what the ceilings allow: the time that flops and bytes need at least, over the time.
  // 0 where it is not known.
  double share(const Ceilings& ceilings) const;
};

// An observer that waits for every call, so that each one's time is its own: the sum over kernels
// is what the device computes, and less than the run, which is slower than without it.
class Profiler : public runtime::Observer {
 public:
  explicit Profiler(const Executable& executable);

  bool wants(const runtime::CallSite&, int64_t) noexcept override { return true; }
  Status before(const runtime::KernelCall& call) noexcept override;
  Status after(const runtime::KernelCall& call) noexcept override;

  // Those that ran, the most costly first.
  std::vector<KernelProfile> kernels() const;
  double seconds() const;  // sum over the kernels
  // The calls, with the function of the model and the tensors of each.
  const TraceTrack& calls() const { return calls_; }

 private:
  Status add(const runtime::KernelCall& call, int64_t end);

  std::vector<KernelWork> work_;         // by the executable's kernel index
  std::vector<KernelProfile> profiles_;  // the same
  std::map<const KernelInfo*, int32_t> index_;
  TraceTrack calls_{.name = "kernel calls of the model", .events = {}, .details = {}};
  int64_t start_ = 0;  // of the call at hand
};

}  // namespace tapml::topdown
