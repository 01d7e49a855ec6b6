// Where a run spends its time: calls, seconds, work and layers of every kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/vm.h"
#include "topdown/profile/trace.h"

namespace tapml::topdown {

// What a device reaches at most, measured by kernels that our own code generation makes.
struct Ceilings {
  double flops_per_s = 0;  // f32, two for a multiply-add
  double bytes_per_s = 0;  // streaming, the better of reading and of a triad
};

// Runs each of the kernels a few times (about a second in all) and keeps the best. PlatformError
// where the device cannot.
Ceilings measure_ceilings(runtime::Session& session, const std::string& target);

struct KernelProfile {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;
  double flops = 0, bytes = 0;  // of all calls; each tensor counted once a call
  // False where a loop's extent is read from memory (attention over a cache): flops count one
  // iteration of it and bytes count whole tensors, so that neither says much.
  bool exact = true;
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
  struct Work {
    ScalarProgram flops, bytes;
    bool exact = false;
  };
  Status add(const runtime::KernelCall& call, int64_t end);

  std::vector<Work> work_;               // by the executable's kernel index
  std::vector<KernelProfile> profiles_;  // the same
  std::map<const KernelInfo*, int32_t> index_;
  TraceTrack calls_{.name = "kernel calls of the model", .events = {}, .details = {}};
  int64_t start_ = 0;  // of the call at hand
};

}  // namespace tapml::topdown
